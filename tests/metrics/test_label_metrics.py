"""Metrics of labels: small tables counted by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.metrics.class_scores import ClassScore, score_classes, score_label_sets
from seq2see.metrics.confusion import count_confusion
from seq2see.metrics.labels import calibration_error, multi_label_f1, score_labels, tabulate_reliability

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
    twice = multi_label_f1(
        [["a", "a"], ["b"]], [["a"], ["b", "b", "b"]]
    )  # a label counts once however often it is said
    assert [metric.value for metric in twice] == [100, 100]


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
    *_, error = score_labels(["neg", "pos", ""], ["neg", "pos", "neg"], confidences=[1.0, 1.0, 0.9])
    assert error.value == 0  # nothing was chosen there, so there is nothing to be sure of


def read_scores(classes: Sequence[ClassScore]) -> dict[str, tuple[float, ...]]:
    return {each.label: (each.precision, each.recall, each.f1, each.support, each.predicted) for each in classes}


def test_each_label_has_precision_recall_and_f1() -> None:
    found = score_classes(CHOSEN, TRUE)
    shares = {"cat": (2 / 3, 2 / 3, 4 / 6), "dog": (1 / 2, 1 / 2, 2 / 4), "fox": (0, 0, 0), "owl": (0, 0, 0)}
    counts = {"cat": (3, 3), "dog": (2, 2), "fox": (0, 1), "owl": (1, 0)}
    for name, values in read_scores(found.classes).items():
        assert values == pytest.approx((*(100 * share for share in shares[name]), *counts[name]))
    means = read_scores(found.means)
    assert means["macro mean"] == pytest.approx((*[100 * (2 / 3 + 1 / 2) / 4] * 3, 6, 6))
    assert means["weighted mean"] == pytest.approx((*[100 * (3 * 2 / 3 + 2 * 1 / 2) / 6] * 3, 6, 6))
    assert found.confusion == count_confusion(CHOSEN, TRUE)
    assert [each.label for each in found.rank()] == ["owl", "fox", "dog", "cat"]  # owl has more sources than fox


def test_precision_and_recall_are_not_each_other() -> None:
    # a: right 1, chosen 1, true 3; b: right 1, chosen 3, true 1
    scores = read_scores(score_classes(["a", "b", "b", "b"], ["a", "a", "a", "b"]).classes)
    assert scores["a"] == pytest.approx((100, 100 / 3, 50, 3, 1))
    assert scores["b"] == pytest.approx((100 / 3, 100, 50, 1, 3))


def test_macro_and_micro_means_are_the_metrics_of_these_names() -> None:
    sets = [{"a", "b"}, {"a"}, set[str]()], [["a", "b"], ["b"], ["c"]]
    micro, macro, weighted = score_label_sets(*sets).means
    assert [micro.f1, macro.f1] == [each.value for each in multi_label_f1(*sets)]
    assert (micro.precision, micro.recall) == pytest.approx((100 * 2 / 3, 100 * 2 / 4))
    assert weighted.f1 == pytest.approx(100 * (1 * 2 / 3 + 2 * 2 / 3 + 0) / 4)  # weighted by support
    assert score_label_sets(*sets).confusion is None
    assert score_classes(CHOSEN, TRUE).means[0].f1 == score_labels(CHOSEN, TRUE)[1].value


def test_an_empty_source_lowers_recall_and_is_no_label() -> None:
    found = score_classes(["neg", "", "pos"], ["neg", "neg", "pos"])
    assert [each.label for each in found.classes] == ["neg", "pos"]
    assert read_scores(found.classes)["neg"] == pytest.approx((100, 50, 100 * 2 / 3, 2, 1))
    assert found.confusion is not None
    assert found.confusion.worst() == [("neg", "", 1)]


def test_a_large_confusion_matrix_keeps_the_labels_of_most_mistakes() -> None:
    true, chosen = ["a"] * 4 + ["b"] * 3 + ["c", "d", "e"], ["a", "b", "b", "b"] + ["b"] * 3 + ["d", "d", "e"]
    confusion = count_confusion(chosen, true)
    pooled = confusion.pool(3, name="3 others")
    assert pooled.labels == ["a", "b", "3 others"]
    assert pooled.counts.tolist() == [[1, 3, 0], [0, 3, 0], [0, 0, 3]]
    assert confusion.pool(5, name="others") is confusion
    wide = count_confusion([str(n) for n in range(1001)], [str(n) for n in range(1001)])
    assert wide.to_dict() is None
    assert count_confusion(["x"], ["y"]).to_dict() == {"labels": ["x", "y"], "counts": [[0, 0], [1, 0]]}


def test_scores_of_labels_as_plain_values() -> None:
    scores = score_classes(["a", "b", "b"], ["a", "a", "b"])
    assert repr(scores) == "ClassScores(2 labels, the lowest F1 66.67 of 'a')"  # of equal ones the more frequent
    plain: Any = scores.to_dict()
    assert [each["label"] for each in plain["classes"]] == ["a", "b"]
    first = {"label": "a", "precision": 100.0, "recall": 50.0, "f1": 200 / 3, "support": 2, "predicted": 1}
    assert plain["classes"][0] == pytest.approx(first)
    assert list(plain["means"]) == ["macro_mean", "weighted_mean"]
    assert plain["means"]["weighted_mean"]["recall"] == pytest.approx((2 * 50 + 100) / 3)
    assert plain["confusion"]["labels"] == ["a", "b"]
    several: Any = score_label_sets([{"a"}], [{"a", "b"}]).to_dict()
    assert several["confusion"] is None
    assert list(several["means"]) == ["micro_mean", "macro_mean", "weighted_mean"]
