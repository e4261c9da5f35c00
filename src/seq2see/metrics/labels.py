"""Metrics of labels: accuracy, F1 and calibration."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from seq2see.core.errors import DataError
from seq2see.metrics.class_scores import MACRO, MICRO, score_label_sets
from seq2see.metrics.confusion import check_paired
from seq2see.metrics.text import Metric

CONFIDENCE_BINS = 15  # as in Guo et al. 2017


@dataclass(frozen=True)
class Bin:
    """Holds the outputs whose confidence is in one range.

    Args:
        low: the confidence above which the range begins; the first range includes it.
        high: the confidence up to which it goes, included.
        count: the number of outputs.
        confidence: their mean confidence, 0 to 1; 0 if there are none.
        accuracy: the share of them that is right, 0 to 1; 0 if there are none.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def score_labels(
    outputs: Sequence[str], references: Sequence[str], *, confidences: Sequence[float] | None = None
) -> list[Metric]:
    """Return accuracy, macro-F1 and, if confidences are given, the calibration error, out of 100.

    Args:
        outputs: the label chosen for each source; empty for an empty source, which is wrong, and does not count for
            calibration.
        references: the right label of each source.
        confidences: the probability of each chosen label, 0 to 1; None leaves the calibration error out.
    """
    found = [accuracy(outputs, references), macro_f1(outputs, references)]
    if confidences is None:
        return found
    sure = [(c, o == r) for c, o, r in zip(confidences, outputs, references, strict=True) if o]
    return [*found, *([calibration_error(*zip(*sure, strict=True))] if sure else [])]


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Return the share of outputs that are right, out of 100.

    Args:
        outputs: the label chosen for each source.
        references: the right label of each source.
    """
    check_paired(outputs, references)
    hits = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    signature = f"accuracy|n:{len(references)}|classes:{len(set(references))}"
    return Metric("accuracy", 100 * hits / len(references), signature)


def macro_f1(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Return the mean over labels of F1 = 2 right / (chosen + true), so that rare labels count as much as others.

    Args:
        outputs: the label chosen for each source; empty for none.
        references: the right label of each source.
    """
    return _f1_metrics([{label} for label in outputs], [{label} for label in references], labels="one")[1]


def multi_label_f1(outputs: Sequence[Collection[str]], references: Sequence[Collection[str]]) -> list[Metric]:
    """Return F1 of sets of labels: micro counts every choice of a label the same, macro every label.

    Args:
        outputs: the labels chosen for each source.
        references: the right labels of each source.
    """
    return _f1_metrics(outputs, references, labels="many")


def calibration_error(confidences: Sequence[float], right: Sequence[bool], *, bins: int = CONFIDENCE_BINS) -> Metric:
    """Return the expected calibration error: sum over bins b of n_b / n |accuracy_b - confidence_b|.

    Guo et al. 2017 (arXiv:1706.04599), eq. 3; out of 100.

    Args:
        confidences: the probability of each output, 0 to 1.
        right: whether each output is right.
        bins: the number of ranges of equal width that 0 to 1 is divided into.
    """
    table = tabulate_reliability(confidences, right, bins=bins)
    gaps = sum(each.count * abs(each.accuracy - each.confidence) for each in table)
    signature = f"ece|n:{len(right)}|bins:{bins}|width:equal|norm:1"
    return Metric("ece", 100 * gaps / len(right), signature, higher_is_better=False)


def tabulate_reliability(
    confidences: Sequence[float], right: Sequence[bool], *, bins: int = CONFIDENCE_BINS
) -> list[Bin]:
    """Return mean confidence and accuracy in ranges of equal width over 0 to 1.

    Args:
        confidences: the probability of each output, 0 to 1.
        right: whether each output is right.
        bins: the number of ranges.
    """
    check_paired(confidences, right)
    chances, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise DataError("a confidence must be a probability from 0 to 1.")
    edges = np.linspace(0, 1, bins + 1)
    numbers = np.searchsorted(edges[1:-1], chances, side="left")  # an edge belongs to the bin below it
    count = np.bincount(numbers, minlength=bins)
    means = [_mean_bins(values, numbers, count) for values in (chances, hits)]
    columns = (edges[:-1], edges[1:], count, *means)
    return [Bin(*(column[each].item() for column in columns)) for each in range(bins)]


def _mean_bins(
    values: Float[np.ndarray, " n"], numbers: Int64[np.ndarray, " n"], count: Int64[np.ndarray, " v"]
) -> Float[np.ndarray, " v"]:
    return np.asarray(np.bincount(numbers, weights=values, minlength=len(count)) / np.maximum(count, 1))


def _f1_metrics(
    outputs: Sequence[Collection[str]], references: Sequence[Collection[str]], *, labels: str
) -> list[Metric]:
    """Return micro and macro F1 over all labels that are chosen or true anywhere."""
    found = score_label_sets(outputs, references)
    means = {each.label: each.f1 for each in found.means}
    about = f"n:{len(references)}|classes:{len(found.classes)}|labels:{labels}|over:chosen-or-true"
    names = (("micro_f1", MICRO), ("macro_f1", MACRO))
    return [Metric(name, means[mean], f"{name}|{about}") for name, mean in names]
