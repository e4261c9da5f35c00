"""Paired bootstrap: what is the same is no difference, what is far apart is one, and the scores are those of `text`."""

import random
from unicodedata import normalize

import pytest

from seq2see.core.errors import DataError
from seq2see.metrics import significance
from seq2see.metrics.caption import score_captions
from seq2see.metrics.significance import compare_captions, compare_systems, make_caption_metrics
from seq2see.metrics.text import score_texts

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "and", "then", "fast", "slow"]


def make_texts(count: int, *, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(count)]


def spoil(texts: list[str], share: float, *, seed: int) -> list[str]:
    """The texts, some of them with their first word replaced."""
    draw = random.Random(seed)
    return [" ".join(["x", *t.split()[1:]]) if draw.random() < share else t for t in texts]


def test_scores_are_those_of_the_metrics() -> None:
    references = make_texts(30, seed=1)
    systems = {"first": spoil(references, 0.3, seed=2), "second": spoil(references, 0.6, seed=3)}
    for name, tested in compare_systems(systems, references).items():
        expected = {metric.name: metric for metric in score_texts(systems[name], references)}
        assert [each.metric.name for each in tested] == ["exact_match", "bleu", "chrf", "ter"]
        for each in tested:
            assert each.metric.value == pytest.approx(expected[each.metric.name].value)
            assert each.metric.higher_is_better == expected[each.metric.name].higher_is_better
            assert "bs:1000|seed:12345" in each.metric.signature


def test_an_accent_counts_the_same_however_it_is_written() -> None:
    composed = ["le café noir est là", "où est la tête"]
    decomposed = [normalize("NFD", text) for text in composed]
    tested = compare_systems({"first": composed, "second": decomposed}, decomposed)
    for each in (*tested["first"], *tested["second"]):
        assert each.metric.value == pytest.approx(100 if each.metric.higher_is_better else 0)


def test_captions_are_drawn_with_all_their_references() -> None:
    references = [[first, second] for first, second in zip(make_texts(40, seed=1), make_texts(40, seed=2), strict=True)]
    references[3] = references[3][:1]
    first = spoil([each[0] for each in references], 0.3, seed=3)
    systems = {"first": first, "same": list(first), "bad": make_texts(40, seed=4)}
    results = compare_captions(systems, references)
    for name, tested in results.items():
        assert [each.metric for each in tested] == score_captions(systems[name], references)
        assert all(each.interval >= 0 for each in tested)
    assert all(0 < each.interval < 25 for each in results["first"][:5])
    assert [each.p_value for each in results["first"]] == [None] * 6
    assert [each.p_value for each in results["same"]] == [1] * 6
    assert all(each.p_value == pytest.approx(1 / 1001) for each in results["bad"])


@pytest.mark.parametrize("text", ["a dog 's ball", "", "a dog", "a b c d e f"])
def test_what_is_drawn_again_is_the_metric_itself(text: str) -> None:
    references = [["a dog 's ball", "one dog"], ["a cat sat on a mat"], ["a b c d f"]]
    outputs = [text, "a cat sat on the mat", text]
    streams = [["a dog 's ball", "a cat sat on a mat", "a b c d f"], ["one dog", None, None]]
    for expected, metric in zip(score_captions(outputs, references), make_caption_metrics(references), strict=True):
        statistics = metric._extract_corpus_statistics(outputs, streams)
        assert metric._aggregate_and_compute(statistics).score == pytest.approx(expected.value, abs=1e-4)


def test_far_apart_is_significant_and_nearly_the_same_is_not() -> None:
    references = make_texts(60, seed=4)
    systems = {"good": references, "bad": make_texts(60, seed=5), "near": [*references[:-1], "x"]}
    results = compare_systems(systems, references)
    assert all(each.p_value is None for each in results["good"])
    assert all(each.p_value == pytest.approx(1 / 1001) for each in results["bad"])
    assert all(each.p_value is not None and each.p_value > 0.05 for each in results["near"])


def test_the_same_outputs_are_no_difference() -> None:
    references = make_texts(20, seed=6)
    outputs = spoil(references, 0.5, seed=7)
    results = compare_systems({"one": outputs, "same": list(outputs)}, references)
    assert [each.p_value for each in results["same"]] == [1, 1, 1, 1]


def test_the_same_call_gives_the_same_numbers() -> None:
    references = make_texts(20, seed=8)
    systems = {"one": spoil(references, 0.4, seed=9), "other": spoil(references, 0.5, seed=10)}
    assert compare_systems(systems, references) == compare_systems(systems, references)


def test_the_interval_of_exact_match_is_the_binomial_one() -> None:
    references = [str(number) for number in range(400)]
    outputs = [text if number % 2 else "x" for number, text in enumerate(references)]
    tested = compare_systems({"half": outputs}, references)["half"][0]
    assert tested.interval == pytest.approx(196 * (0.5 * 0.5 / 400) ** 0.5, rel=0.1)


def test_large_sets_are_sampled_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "MAX_DRAWN_SENTENCES", 200)
    references = make_texts(20, seed=11)
    assert "bs:10|" in compare_systems({"one": references}, references)["one"][0].metric.signature


def test_systems_need_an_output_for_each_reference() -> None:
    with pytest.raises(DataError, match="got 1 outputs and 2 references"):
        compare_systems({"one": ["a", "b"], "two": ["a"]}, ["a", "b"])
    with pytest.raises(DataError, match="at least one system"):
        compare_systems({}, ["a"])
