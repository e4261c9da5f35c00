"""Precision, recall and F1 of each label."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from seq2see.metrics.confusion import Confusion, check_paired, count_confusion

if TYPE_CHECKING:
    from pydantic import JsonValue

MACRO, WEIGHTED, MICRO = "macro mean", "weighted mean", "micro mean"


@dataclass(frozen=True)
class ClassScore:
    """Holds the scores of one label, or a mean of them, out of 100.

    precision = right / predicted, recall = right / support, F1 = 2 right / (predicted + support); 0 where the
    denominator is 0.

    Args:
        label: the label, or the name of the mean.
        precision: the share of the sources with this output that are right.
        recall: the share of the sources of this label that got it.
        f1: the harmonic mean of both.
        support: the number of sources of this label.
        predicted: the number of sources for which it was chosen.
    """

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True)
class ClassScores:
    """Holds the scores of every label that was chosen or is right anywhere, their means, and the confusion matrix.

    The means are those of scikit-learn's `classification_report`: `macro mean` counts every label the same, `weighted
    mean` by its support, and `micro mean`, where a source may have several labels, every choice of a label.

    Args:
        classes: the scores of each label, sorted by name.
        means: the means over all labels.
        confusion: how often each label was taken for each; None where a source may have several labels.
    """

    classes: Sequence[ClassScore]
    means: Sequence[ClassScore]
    confusion: Confusion | None = None

    def __repr__(self) -> str:
        worst = self.rank()[0]
        return f"ClassScores({len(self.classes)} labels, the lowest F1 {worst.f1:.2f} of {worst.label!r})"

    def rank(self) -> list[ClassScore]:
        """Return the labels with the lowest F1 first; of equal ones, that with the largest support."""
        return sorted(self.classes, key=lambda each: (each.f1, -each.support, each.label))

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return everything, for programs."""
        return {
            "classes": [asdict(each) for each in self.classes],
            "means": {each.label.replace(" ", "_"): asdict(each) for each in self.means},
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
        }


def score_classes(outputs: Sequence[str], references: Sequence[str]) -> ClassScores:
    """Return the scores of each label, where each source has one, and the confusion matrix.

    Args:
        outputs: the label chosen for each source; empty for an empty source, which is a mistake and no label.
        references: the right label of each source.
    """
    classes = count_classes([{label} for label in outputs], [{label} for label in references])
    return ClassScores(classes, average_classes(classes), count_confusion(outputs, references))


def score_label_sets(outputs: Sequence[Collection[str]], references: Sequence[Collection[str]]) -> ClassScores:
    """Return the scores of each label, where a source may have several.

    Args:
        outputs: the labels chosen for each source.
        references: the right labels of each source.
    """
    classes = count_classes(outputs, references)
    right = sum(len(set(o) & set(r)) for o, r in zip(outputs, references, strict=True))
    counts = sum(each.predicted for each in classes), sum(each.support for each in classes)
    return ClassScores(classes, [_make_score(MICRO, right, *counts), *average_classes(classes)])


def count_classes(outputs: Sequence[Collection[str]], references: Sequence[Collection[str]]) -> list[ClassScore]:
    """Return the scores of each label that is chosen or right anywhere, sorted by name.

    Args:
        outputs: the labels chosen for each source.
        references: the right labels of each source.
    """
    check_paired(outputs, references)
    predicted = Counter(label for each in outputs for label in set(each) if label)  # an empty source has no label
    support = Counter(label for each in references for label in set(each))
    right = Counter(label for o, r in zip(outputs, references, strict=True) for label in set(o) & set(r))
    names = sorted(predicted.keys() | support.keys())
    return [_make_score(name, right[name], predicted[name], support[name]) for name in names]


def average_classes(classes: Sequence[ClassScore]) -> list[ClassScore]:
    """Return the macro mean and the mean weighted by support.

    Args:
        classes: the scores of all labels.
    """
    alike = [1] * len(classes)
    return [_average(MACRO, classes, alike), _average(WEIGHTED, classes, [each.support for each in classes])]


def _make_score(label: str, right: int, predicted: int, support: int) -> ClassScore:
    precision, recall = right / max(predicted, 1), right / max(support, 1)
    f1 = 2 * right / max(predicted + support, 1)
    return ClassScore(label, 100 * precision, 100 * recall, 100 * f1, support, predicted)


def _average(name: str, classes: Sequence[ClassScore], weights: Sequence[int]) -> ClassScore:
    def mean(read: Callable[[ClassScore], float]) -> float:
        weighted = sum(weight * read(each) for weight, each in zip(weights, classes, strict=True))
        return weighted / max(sum(weights), 1)

    means = (mean(lambda each: each.precision), mean(lambda each: each.recall), mean(lambda each: each.f1))
    return ClassScore(name, *means, sum(each.support for each in classes), sum(each.predicted for each in classes))
