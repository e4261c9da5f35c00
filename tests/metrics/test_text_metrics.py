"""Metrics of texts: numbers that can be checked by hand, and a signature on each."""

from math import exp
from unicodedata import normalize

import pytest
import sacrebleu

from seq2see.core.errors import ConfigError, DataError
from seq2see.metrics.text import (
    bleu,
    bleu_tokenised,
    character_error_rate,
    chrf,
    exact_match,
    is_match,
    score_texts,
    ter,
    validation_text_metrics,
    word_error_rate,
)


def test_exact_match_counts_whole_texts() -> None:
    assert exact_match(["a", "B", "c ", "d"], ["a", "b", "c", "d"]).value == 50


def test_character_error_rate_is_edits_over_reference_characters() -> None:
    # one replacement, one deletion, two insertions over 3 + 3 + 4 characters
    metric = character_error_rate(["axc", "ab", "abcdef"], ["abc", "abc", "abcd"])
    assert metric.value == pytest.approx(100 * 4 / 10)
    assert not metric.higher_is_better
    assert character_error_rate(["aaaa"], ["b"]).value == 400


def test_word_error_rate_is_edits_over_reference_words() -> None:
    # one replacement and one insertion over 3 + 2 words, however long they are
    metric = word_error_rate(["one x three", "a b c"], ["one two three", "a b"])
    assert metric.value == pytest.approx(100 * 2 / 5)
    assert not metric.higher_is_better


def test_bleu_is_the_papers_formula() -> None:
    # 1- to 4-grams: 4 of 5, 3 of 4, 2 of 3, 1 of 2; the output is as long as the reference
    precisions = 4 / 5 * 3 / 4 * 2 / 3 * 1 / 2
    assert bleu(["a b c d x"], ["a b c d e"]).value == pytest.approx(100 * precisions**0.25)
    # all right, but 4 words for 5: the brevity penalty exp(1 - 5/4) alone
    assert bleu(["a b c d"], ["a b c d e"]).value == pytest.approx(100 * exp(1 - 5 / 4))


def test_any_of_several_references_will_do() -> None:
    outputs, references = ["abcd", "xy", "e"], [["abce", "zz", "abcd"], ["xyz", "x"], ["e"]]
    assert exact_match(outputs, references).value == pytest.approx(100 * 2 / 3)
    assert "|n:3|refs:1-3|" in exact_match(outputs, references).signature
    # the closest of "xyz" and "x" are both one edit away, and the shorter one counts: one edit for 4 + 1 + 1
    assert character_error_rate(outputs, references).value == pytest.approx(100 * 1 / 6)
    words = ["the cat sat on a mat", "a dog"], [["the dog", "the cat sat on the mat"], ["a dog"]]
    assert word_error_rate(*words).value == pytest.approx(100 * 1 / 8)
    expected = sacrebleu.corpus_bleu(words[0], [["the dog", "a dog"], ["the cat sat on the mat", None]])
    assert bleu(*words).value == pytest.approx(expected.score)
    assert [metric.value for metric in score_texts(["a b c d"], [["x", "a b c d"]])][:2] == [100, 0]
    with pytest.raises(DataError, match="a score needs references"):
        exact_match(["a"], [[]])


def test_tokenised_bleu_takes_tokens_as_they_stand() -> None:
    # sacrebleu cuts the full stop off; as it stands, 3 of 4 words are right, then 2 of 3, 1 of 2, and no whole 4-gram
    assert bleu(["a b c d."], ["a b c d ."]).value == pytest.approx(100)
    found = bleu_tokenised(["a b c d."], ["a b c d ."])
    smoothed = 1 / 2  # for no hit in one 4-gram, as sacrebleu smooths by default
    assert found.value == pytest.approx(100 * exp(1 - 5 / 4) * (3 / 4 * 2 / 3 * 1 / 2 * smoothed) ** 0.25)
    assert "tok:none" in found.signature


def test_ter_counts_a_moved_phrase_as_one_edit() -> None:
    assert ter(["d a b c"], ["a b c d"]).value == pytest.approx(100 / 4)
    assert ter(["a x c d"], ["a b c d"]).value == pytest.approx(100 / 4)
    assert not ter(["a"], ["a"]).higher_is_better


def test_a_tokenizer_of_sacrebleu_can_be_chosen() -> None:
    assert bleu(["我爱北京天"], ["我爱北京天"]).value == 0  # one word, so there is no 4-gram
    chosen = bleu(["我爱北京天"], ["我爱北京天"], tokenizer="zh")
    assert chosen.value == pytest.approx(100)
    assert "tok:zh" in chosen.signature


def test_an_unknown_tokenizer_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no BLEU tokenizer named 'inlt'; did you mean 'intl'"):
        bleu(["a"], ["a"], tokenizer="inlt")


@pytest.mark.parametrize(("tokenizer", "package"), [("ja-mecab", r"sacrebleu\[ja\]"), ("flores200", "sentencepiece")])
def test_a_tokenizer_without_its_package_says_what_to_install(
    tokenizer: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("\n\nPlease install them like so.\n\n pip")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", lambda name: fail)
    with pytest.raises(ConfigError, match=f"^the BLEU tokenizer {tokenizer} .*-m pip install .*{package}.*$"):
        bleu(["a"], ["a"], tokenizer=tokenizer)


def test_chrf_is_an_f_score_that_favours_recall() -> None:
    # 1-grams: precision 2/2, recall 2/4; 2-grams: 1/1, 1/3; the output has no longer ones. P = 1, R = 5/12
    assert chrf(["ab"], ["abcd"]).value == pytest.approx(100 * 5 * (5 / 12) / (4 + 5 / 12))


def test_right_and_wrong_texts_are_at_the_ends_of_every_scale() -> None:
    texts = ["the cat sat on the mat", "colourless green ideas sleep furiously"]
    for metric in score_texts(texts, texts):
        assert metric.value == pytest.approx(100 if metric.higher_is_better else 0)
    for metric in score_texts(["x", "y"], texts):
        assert metric.value < 5 if metric.higher_is_better else metric.value > 95


def test_every_metric_says_how_it_was_computed() -> None:
    texts = ["a b c d"]
    metrics = score_texts(texts, texts)
    assert [metric.name for metric in metrics] == ["exact_match", "cer", "bleu", "bleu_tokenised", "chrf", "ter"]
    assert [metric.name for metric in validation_text_metrics(texts, texts)] == [
        m.name for m in metrics if m.name != "ter"
    ]
    signatures = {metric.name: metric.signature for metric in metrics}
    assert "n:1" in signatures["exact_match"]
    assert "rapidfuzz:" in signatures["cer"]
    assert "tok:13a" in signatures["bleu"]
    assert "version:" in signatures["bleu"]
    assert "nc:6" in signatures["chrf"]


def test_an_accent_counts_the_same_however_it_is_written() -> None:
    text = "crème brûlée à la française, s'il vous plaît"
    for output, reference in (("NFC", "NFD"), ("NFD", "NFC")):
        for metric in score_texts([normalize(output, text)], [normalize(reference, text)]):
            assert metric.value == pytest.approx(100 if metric.higher_is_better else 0)
            assert "form:nfc" in metric.signature
    forms = [normalize(form, text) for form in ("NFC", "NFD")]
    assert all(is_match(output, reference) for output in forms for reference in forms)
    assert not is_match(forms[0], forms[0].replace("é", "e"))
    assert not is_match("A", "a")


@pytest.mark.parametrize(("outputs", "references"), [([""], ["a b"]), (["a"], [""]), ([""], [""])])
def test_empty_texts_have_a_score(outputs: list[str], references: list[str]) -> None:
    assert all(0 <= metric.value <= 100 for metric in score_texts(outputs, references))


@pytest.mark.parametrize(
    ("outputs", "references"), [([], []), (["a"], []), ([], ["a"]), (["a", "b"], ["a"]), (["a", "b"], [["a"], []])]
)
@pytest.mark.parametrize("metric", [exact_match, character_error_rate, bleu, bleu_tokenised, chrf, ter, score_texts])
def test_without_a_reference_for_each_output_there_is_no_score(metric, outputs, references) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=f"got {len(outputs)} outputs and {len(references)} references"):
        metric(outputs, references)


def test_bleu_is_left_out_where_perfect_outputs_have_none() -> None:
    dates = ["2011-08-26", "1999-01-02"]
    assert [metric.name for metric in score_texts(dates, dates)] == ["exact_match", "cer", "bleu", "chrf", "ter"]
    assert [metric.name for metric in score_texts(["x"], ["word"])] == ["exact_match", "cer", "chrf", "ter"]
