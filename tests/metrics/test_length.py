"""Buckets by length hold every sentence once, and their scores add up to those of the whole."""

import random

import pytest

from seq2see.core.words import choose_unit, find_words
from seq2see.metrics.length import (
    MAX_BUCKETS,
    MIN_BUCKET_SENTENCES,
    Bucket,
    Buckets,
    LengthScores,
    score_buckets,
    sort_by_length,
)
from seq2see.metrics.text import exact_match


def make_sources(lengths: list[int]) -> list[str]:
    return [" ".join(["word"] * length) for length in lengths]


def test_ranges_are_round_and_hold_their_sentences() -> None:
    found = sort_by_length(make_sources([length for length in range(1, 31) for _ in range(3)]))
    assert found.unit == "words"
    assert [bucket.label for bucket in found.buckets] == ["1–5", "6–10", "11–15", "16–20", "21–25", "26–30"]
    assert [len(bucket.rows) for bucket in found.buckets] == [15] * 6
    assert [bucket.mean for bucket in found.buckets] == [3, 8, 13, 18, 23, 28]
    (few,) = sort_by_length(make_sources([1] * 3 + [2, 5])).buckets
    assert (few.label, few.mean) == ("1–5", 2)


def test_few_sentences_join_their_neighbour() -> None:
    # 12 of one word, 3 of two, 12 of three, and a single one of 900 that would be a bucket of its own
    found = sort_by_length(make_sources([1] * 12 + [2] * 3 + [3] * 12 + [900]))
    assert [(bucket.label, len(bucket.rows)) for bucket in found.buckets] == [("1", 12), ("2–900", 16)]


def test_a_last_range_with_few_sentences_joins_the_only_one_before_it() -> None:
    found = sort_by_length(make_sources([6] * 12 + [7] * 3))
    assert [(bucket.label, len(bucket.rows)) for bucket in found.buckets] == [("6–7", 15)]


def test_a_bucket_is_small_below_the_least_number_and_not_at_it() -> None:
    sizes = (MIN_BUCKET_SENTENCES - 1, MIN_BUCKET_SENTENCES)
    assert [Bucket(1, 5, tuple(range(size)), 3.0).few for size in sizes] == [True, False]


def test_the_score_that_is_shown_is_the_one_asked_for_or_the_best_known() -> None:
    scores = {name: {"run": [1.0]} for name in ("chrf", "exact_match", "bleu")}
    assert LengthScores(sort_by_length([]), scores).choose_metric("chrf") == "chrf"
    assert LengthScores(sort_by_length([]), scores).choose_metric() == "bleu"
    del scores["bleu"]
    assert LengthScores(sort_by_length([]), scores).choose_metric("bleu") == "exact_match"


@pytest.mark.parametrize("seed", range(8))
def test_every_sentence_is_in_one_bucket(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [min(1 + int(draw.expovariate(1 / 12)), 200) for _ in range(draw.choice([1, 9, 40, 300]))]
    sources = make_sources(lengths)
    found = sort_by_length(sources)
    rows = [row for bucket in found.buckets for row in bucket.rows]
    assert sorted(rows) == list(range(len(sources)))
    assert len(found.buckets) <= MAX_BUCKETS + 6
    for bucket in found.buckets:
        assert all(bucket.low <= lengths[row] <= bucket.high for row in bucket.rows) or found.unit == "characters"
        assert bucket.few == (len(sources) < MIN_BUCKET_SENTENCES)
    for before, after in zip(found.buckets, found.buckets[1:], strict=False):
        assert before.high < after.low


def test_scores_of_buckets_add_up_to_the_whole() -> None:
    draw = random.Random(1)
    sources = make_sources([draw.randint(1, 20) for _ in range(100)])
    references = [f"{source} end" for source in sources]
    outputs = [text if draw.random() < 0.5 else "x" for text in references]
    found = sort_by_length(sources)
    scores = score_buckets(found, outputs, references)
    assert [metric.name for metric in scores[0]] == ["bleu", "chrf", "exact_match"]
    hits = sum(row[2].value * len(bucket.rows) for row, bucket in zip(scores, found.buckets, strict=True))
    assert hits / len(sources) == pytest.approx(exact_match(outputs, references).value)


def test_a_bucket_of_right_outputs_scores_the_whole_scale() -> None:
    sources = make_sources([5] * 10 + [10] * 10)
    outputs = [*sources[:10], *["x"] * 10]
    right, wrong = score_buckets(sort_by_length(sources), outputs, sources)
    assert [metric.value for metric in right] == pytest.approx([100, 100, 100])
    assert all(metric.value < 5 for metric in wrong)


def test_nothing_has_no_buckets() -> None:
    assert sort_by_length([]).buckets == ()


def test_texts_without_spaces_are_counted_in_characters() -> None:
    assert choose_unit([*["我爱北京天安门"] * 5, "今天 OK 很好"]) == "characters"
    assert choose_unit(["Hello", "How are you?", "Fine"]) == "words"
    assert find_words("e\u0301te\u0301 x", "characters") == [(0, 2), (2, 3), (3, 5), (6, 7)]
    assert find_words(" two  words ", "words") == [(1, 4), (6, 11)]
    assert find_words("", "characters") == find_words("  ", "words") == []


def test_scores_by_length_as_plain_values() -> None:
    buckets = Buckets("words", (Bucket(1, 5, tuple(range(12)), 3.5), Bucket(6, 40, (12, 13), 20.0)))
    assert LengthScores(buckets, {"bleu": {"one": (30.0, 20.0)}}).to_dict() == {
        "unit": "words",
        "buckets": [
            {"low": 1, "high": 5, "mean": 3.5, "count": 12, "few": False},
            {"low": 6, "high": 40, "mean": 20.0, "count": 2, "few": True},
        ],
        "scores": {"bleu": {"one": [30.0, 20.0]}},
    }
