"""Metrics of captions: counted by hand, with several references, and METEOR by its own program."""

import json
import stat
import sys
from math import exp, log
from pathlib import Path

import pytest

from seq2see.core.errors import ConfigError, DataError, Seq2SeeError
from seq2see.metrics import meteor as meteor_module
from seq2see.metrics.caption import score_captions, tokenise_caption, unpenalised_bleu, validation_caption_metrics
from seq2see.metrics.meteor import Meteor, explain_absence


def values(outputs: list[str], references: list[list[str]]) -> dict[str, float]:
    return {metric.name: metric.value for metric in score_captions(outputs, references)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('A man\'s "T-shirt" isn’t red , is it ?!', "a man 's t-shirt is n't red is it"),
        ("一个红色的圆形。", "一 个 红 色 的 圆 形"),
        ("कुत्ता लाल है", "कुत्ता लाल है"),
        ("كَلْب أحمر", "كَلْب أحمر"),
        ("İSTANBUL, güzel", "istanbul güzel"),
        ("👍 👩‍👩‍👧!", "👍 👩‍👩‍👧"),
        ("the dogs' toys ; it 's 10:30 - time ...", "the dogs toys it 's 10:30 time"),
        ("Washington D.C. costs $3.50 & more (much)", "washington d.c. costs $ 3.50 & more much"),
        ("CAFE\u0301", "café"),
        (" . !", ""),
    ],
)
def test_captions_are_cut_as_the_literature_cuts_them(text: str, words: str) -> None:
    assert " ".join(tokenise_caption(text)) == words


def test_bleu_clips_at_the_reference_that_has_most_and_takes_the_closest_length() -> None:
    # "the" occurs twice in one reference, so 2 of 3 count; the lengths 2 and 5 are 1 and 2 away from 3
    found = values(["the the the"], [["the cat", "the cat and the dog"]])
    assert found["bleu_1"] == pytest.approx(100 * 2 / 3)
    # 4 words, all in one reference or the other; pairs: "a dog", "dog runs" of 3; the shorter of two close lengths
    found = values(["a dog runs fast"], [["a dog runs off now", "he is fast"]])
    assert found["bleu_1"] == pytest.approx(100)
    assert found["bleu_2"] == pytest.approx(100 * (1 * 2 / 3) ** 0.5)
    # too short: 2 words for 4
    assert values(["a dog"], [["a dog runs fast"]])["bleu_1"] == pytest.approx(100 * exp(1 - 2))


def test_bleu_without_a_penalty_knows_precision_alone() -> None:
    references = [["a dog runs fast"], ["a cat"]]
    # 3 of 4 words, 1 of 2 pairs; 4 words for 6
    found = unpenalised_bleu(["a dog", "a cow"], references)
    assert found[0].value == pytest.approx(75)
    assert found[1].value == pytest.approx(100 * (3 / 4 * 1 / 2) ** 0.5)
    assert values(["a dog", "a cow"], references)["bleu_1"] == pytest.approx(75 * exp(1 - 6 / 4))
    assert [metric.name for metric in found] == [f"bleu_{order}_unpenalised" for order in (1, 2, 3, 4)]
    assert all("|brevity:free|" in metric.signature for metric in found)


def test_bleu_is_of_the_corpus_and_not_a_mean() -> None:
    found = values(["a b", "x y z z"], [["a b"], ["p q r s"]])
    assert found["bleu_1"] == pytest.approx(100 * 2 / 6)
    assert found["bleu_4"] < 1e-3


def test_rouge_l_takes_the_best_precision_and_the_best_recall() -> None:
    # with "a b x c d e" the longest common subsequence is a b c (precision 3/3), with "a c" it is a c (recall 2/2)
    assert values(["a b c"], [["a b x c d e", "a c"]])["rouge_l"] == pytest.approx(100)
    # against the first alone: recall 3/6
    one = (1 + 1.44) * 1 * 0.5 / (0.5 + 1.44 * 1)
    assert values(["a b c"], [["a b x c d e"]])["rouge_l"] == pytest.approx(100 * one)
    assert values(["a b c", "q"], [["a b x c d e"], ["z"]])["rouge_l"] == pytest.approx(50 * one)


def test_cider_d_weighs_rare_words_and_other_lengths() -> None:
    # "a" is in both images' references and weighs log(2/2) = 0; "dog" is in one and weighs log 2. One word right of
    # one that weighs, no pair or longer: a quarter of 10
    references = [["a dog"], ["a cat"]]
    assert values(["dog", "a"], references)["cider_d"] == pytest.approx(100 * (10 / 4 * exp(-1 / 72) + 0) / 2)
    # all of it, over two lengths of n-grams that exist
    assert values(["a dog", "a cat"], references)["cider_d"] == pytest.approx(100 * 10 * 2 / 4)
    # said twice, "dog" is clipped: min(2w, w) w / (2w w)
    assert values(["dog dog", "a"], references)["cider_d"] == pytest.approx(100 * 10 / 4 * 0.5 / 2)
    # a mean over references: cos of (dog, cat) weights log 2 and log 2 with one of them
    found = values(["dog cat", "x"], [["dog", "cat"], ["y"]])["cider_d"]
    assert found == pytest.approx(100 * 10 / 4 * (log(2) ** 2 / (2**0.5 * log(2) ** 2)) * exp(-1 / 72) / 2)


def test_every_metric_of_captions_says_how_it_was_computed() -> None:
    metrics = score_captions(["a b", "c"], [["a b"], ["c", "d", "e"]])
    names = ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider_d"]
    assert [metric.name for metric in metrics] == names
    for metric in metrics:
        assert metric.signature.startswith(f"{metric.name}|n:2|refs:1-3|tok:own|case:lower|punct:no|form:nfc|seq2see:")
    assert [metric.name for metric in validation_caption_metrics(["a"], [["a"]])] == ["bleu_4", "cider_d"]


def test_an_empty_caption_scores_nothing_and_breaks_nothing() -> None:
    assert all(value < 1e-6 for value in values(["", "..."], [["a dog"], ["", "a cat"]]).values())


@pytest.mark.parametrize(("outputs", "references"), [([], []), (["a"], []), (["a"], [[]]), (["a", "b"], [["a"]])])
def test_captions_without_references_are_refused(outputs: list[str], references: list[list[str]]) -> None:
    with pytest.raises(DataError, match=f"got {len(outputs)} outputs for {len(references)} images"):
        score_captions(outputs, references)


FAKE = """#!{python}
import json, sys
with open({said!r}, "w") as file:
    json.dump(sys.argv, file)
for number, line in enumerate(sys.stdin):
    parts = line.rstrip("\\n").split(" ||| ")
    {trouble}
    if parts[0] == "SCORE":
        print(float(parts[-1] in parts[1:-1]), len(parts), flush=True)
    else:
        hits = [float(part.split()[0]) for part in parts[1:]]
        print(*hits, sum(hits) / len(hits), sep="\\n", flush=True)
"""


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A program called java that answers as METEOR does: 1 for an output that is a reference, and the mean of all."""

    def install(trouble: str = "pass") -> None:
        program = tmp_path / "java"
        program.write_text(FAKE.format(python=sys.executable, trouble=trouble, said=str(tmp_path / "argv.json")))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(meteor_module, "find_jar", lambda: tmp_path / "meteor.jar")

    return install


def test_meteor_is_asked_for_each_output_and_once_for_all(fake_java) -> None:  # type: ignore[no-untyped-def]
    fake_java()
    with Meteor() as process:
        metrics = score_captions(["A dog!", "no", "yes"], [["a | cat", "a dog"], ["yes"], ["yes"]], meteor=process)
        assert process.score(["x"], [["x"]]) == 1
    (found,) = [metric for metric in metrics if metric.name == "meteor"]
    assert found.value == pytest.approx(100 * 2 / 3)
    assert "version:1.5" in found.signature


def test_meteor_is_told_the_references_first_and_the_output_last(fake_java, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    fake_java()
    with Meteor() as process:  # which reference is right must not matter
        assert process.score(["a dog", "a cat"], [["a dog", "one", "two"], ["one", "a cat"]]) == 1
        assert process.score(["a\nbig | dog"], [["cat", "a big\tdog"]]) == 1  # a line is a question, and | cuts it
    words = json.loads((tmp_path / "argv.json").read_text())
    # as pycocoevalcap calls it: texts from standard input, English, and normalised
    assert words[words.index("-jar") + 2 :] == ["-", "-", "-stdio", "-l", "en", "-norm"]


def test_meteor_that_dies_is_asked_all_over_again(fake_java, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    once = tmp_path / "died"
    fake_java(f"import os; (number == 1 and not os.path.exists({str(once)!r})) and (open({str(once)!r}, 'w'), exit())")
    with Meteor() as process:
        assert process.score(["a", "b", "c", "d"], [["a"], ["b"], ["c"], ["x"]]) == pytest.approx(3 / 4)
    assert once.exists()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("exit()", "its process ended"),
        ("import time; time.sleep(60)", "no answer for 0.2 seconds"),
        ("print('Error: no memory', flush=True)", "it said 'Error: no memory' where a number belongs"),
    ],
)
def test_meteor_that_cannot_score_is_one_sentence_and_no_score(fake_java, trouble: str, words: str) -> None:  # type: ignore[no-untyped-def]
    fake_java(trouble)
    with Meteor(timeout=0.2 if "sleep" in trouble else 30.0) as process, pytest.raises(Seq2SeeError) as caught:
        process.score(["a"], [["a"]])
    assert f"METEOR gave up twice ({words})" in str(caught.value)


def test_what_meteor_needs_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(meteor_module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        Meteor()
    assert "apt install default-jre-headless) and" in str(caught.value)
    assert '[meteor]")' in str(caught.value)


@pytest.mark.slow
def test_meteor_itself_knows_words_that_are_related() -> None:
    absence = explain_absence()
    if absence is not None:
        pytest.skip(absence)
    outputs = ["a dog runs in the snow", "two children play", "", "x"]
    dogs, children = ["a black dog is running through snow", "the dog runs"], ["two kids are playing", "children play"]
    with Meteor() as process:
        assert process.score(["a dog runs"], [["a cat", "a dog runs"]]) == pytest.approx(1)
        assert process.score(outputs[2:], [["a man"], ["a b"]]) == 0
        # what pycocoevalcap's own wrapper says
        assert process.score(outputs, [dogs, children, ["a man"], ["a b"]]) == pytest.approx(0.29257632, abs=1e-7)
