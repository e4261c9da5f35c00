"""Metrics of labels: small tables counted by hand."""

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.metrics.labels import (
    calibration_error,
    count_confusion,
    multi_label_f1,
    score_labels,
    tabulate_reliability,
)

TRUE = ["cat", "cat", "cat", "dog", "dog", "owl"]
CHOSEN = ["cat", "cat", "dog", "dog", "cat", "fox"]


def test_accuracy_and_macro_f1_count_by_hand() -> None:
    accuracy, macro = score_labels(CHOSEN, TRUE)
    assert accuracy.value == pytest.approx(100 * 3 / 6)
    # 2 right / (chosen + true): cat 4/6, dog 2/4; owl is never chosen and fox never true
    assert macro.value == pytest.approx(100 * (4 / 6 + 2 / 4 + 0 + 0) / 4)
    assert (accuracy.name, macro.name) == ("accuracy", "macro_f1")
    assert accuracy.signature == "accuracy|n:6|classes:3"
    assert "classes:4|labels:one" in macro.signature


def test_confusion_has_the_true_label_in_rows() -> None:
    confusion = count_confusion(CHOSEN, TRUE)
    assert list(confusion.labels) == ["cat", "dog", "fox", "owl"]
    assert confusion.counts.tolist() == [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert confusion.worst(2) == [("cat", "dog", 1), ("dog", "cat", 1)]
    assert confusion.counts.sum() == len(TRUE)
    assert count_confusion(["b"], ["a"], labels=["b", "a"]).counts.tolist() == [[0, 0], [1, 0]]
    with pytest.raises(DataError, match="among the 1 that are given; got 'b' too"):
        count_confusion(["b"], ["a"], labels=["a"])


def test_calibration_error_is_the_mean_gap_between_confidence_and_accuracy() -> None:
    # two bins: 0.2 and 0.5 (the edge, below) with one of two right, 0.9 and 1.0 with two of two
    chances, right = [0.2, 0.5, 0.9, 1.0], [False, True, True, True]
    table = tabulate_reliability(chances, right, bins=2)
    assert [(each.count, each.confidence, each.accuracy) for each in table] == [(2, 0.35, 0.5), (2, 0.95, 1.0)]
    found = calibration_error(chances, right, bins=2)
    assert found.value == pytest.approx(100 * (0.5 * 0.15 + 0.5 * 0.05))
    assert not found.higher_is_better
    assert "bins:2" in found.signature


def test_too_much_and_too_little_confidence_do_not_cancel() -> None:
    # 0.4 three times, never right: a gap of 0.4 down; 0.7 twice, always right: one of 0.3 up
    found = calibration_error([0.4, 0.4, 0.4, 0.7, 0.7], [False, False, False, True, True], bins=2)
    assert found.value == pytest.approx(100 * (3 * 0.4 + 2 * 0.3) / 5)


def test_well_calibrated_answers_have_no_error_in_fifteen_bins() -> None:
    chances = np.repeat([0.1, 0.5, 0.9], 10)
    right = [True] + [False] * 9 + [True] * 5 + [False] * 5 + [True] * 9 + [False]
    *_, found = score_labels(
        ["a" if r else "b" for r in right], ["a"] * 30, confidences=[float(chance) for chance in chances]
    )
    assert found.name == "ece"
    assert found.value == pytest.approx(0, abs=1e-9)
    assert len(tabulate_reliability([0.0, 1.0], [False, True])) == 15


def test_sets_of_labels_have_a_micro_and_a_macro_f1() -> None:
    # a: chosen 2, true 1, right 1; b: 1, 2, 1; c: 0, 1, 0
    micro, macro = multi_label_f1([{"a", "b"}, {"a"}, set()], [["a", "b"], ["b"], ["c"]])
    assert micro.value == pytest.approx(100 * 2 * 2 / (3 + 4))
    assert macro.value == pytest.approx(100 * (2 / 3 + 2 / 3 + 0) / 3)
    assert "labels:many" in micro.signature


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="got 1 answers and 2 references"):
        score_labels(["a"], ["a", "b"])
    with pytest.raises(DataError, match="got 0 answers and 0 references"):
        multi_label_f1([], [])
    with pytest.raises(DataError, match="probability from 0 to 1"):
        calibration_error([1.2], [True])


def test_a_blank_output_is_wrong_and_no_class_of_its_own() -> None:
    accuracy, macro, error = score_labels(["neg", "pos", ""], ["neg", "pos", "neg"], confidences=[1.0, 1.0, 0.0])
    assert accuracy.value == pytest.approx(100 * 2 / 3)
    assert macro.value == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert error.value == 0
