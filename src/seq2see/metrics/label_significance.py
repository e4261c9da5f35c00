"""Whether classifiers differ: McNemar's test of their accuracy, and a paired bootstrap of their F1."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64
from sacrebleu.significance import estimate_ci

from seq2see.core.errors import DataError
from seq2see.metrics.confusion import check_paired
from seq2see.metrics.labels import accuracy, macro_f1, multi_label_f1
from seq2see.metrics.mcnemar import mcnemar
from seq2see.metrics.significance import MAX_DRAWN_SENTENCES, MAX_SAMPLES, Tested
from seq2see.metrics.text import Metric

SEED = 12345  # that of sacrebleu's tests

LabelSets = Sequence[Collection[str]]  # the labels of each source; none for an empty source


@dataclass(frozen=True)
class Drawn:
    """Holds the metrics of one classifier on test sets that were drawn with replacement, the same ones for all.

    Args:
        correct: whether each source of the whole set is right.
        values: each metric on each set, by its name.
    """

    correct: Bool[np.ndarray, " n"]
    values: Mapping[str, Float64[np.ndarray, " k"]]


def compare_classifiers(
    systems: Mapping[str, LabelSets], references: LabelSets, *, many: bool
) -> dict[str, list[Tested]]:
    """Return accuracy and F1 of each classifier, and whether it differs from the first.

    The p-value of accuracy is that of McNemar's exact test; where a source may have several labels, it is right if all
    of them are. That of F1 is of a paired bootstrap, two-sided: the share of test sets, drawn with replacement, on
    which the difference d_i is as far from the difference d on the whole set as d is from 0,
    p = (1 + #{|d_i - d| >= |d|}) / (1 + k) (Berg-Kirkpatrick et al. 2012, https://aclanthology.org/D12-1091).

    Args:
        systems: the labels that each classifier chose, by its name; the first is the baseline of the others.
        references: the right labels of each source.
        many: whether a source may have several labels, which adds micro-F1.

    Returns:
        The tested metrics of each classifier by its name, in the same order for all.
    """
    if not systems:
        raise DataError("a comparison needs at least one system.")
    scores = {name: _score(outputs, references, many=many) for name, outputs in systems.items()}
    drawn = {name: draw(outputs, references) for name, outputs in systems.items()}
    first = next(iter(systems))
    return {
        name: [
            _test(metric, drawn[name], base, None if name == first else drawn[first])
            for metric, base in zip(scores[name], scores[first], strict=True)
        ]
        for name in systems
    }


def draw(outputs: LabelSets, references: LabelSets) -> Drawn:
    """Return accuracy, micro-F1 and macro-F1 of a classifier on sets that are drawn with replacement, out of 100.

    Args:
        outputs: the labels chosen for each source.
        references: the right labels of each source.
    """
    check_paired(outputs, references)
    pairs = [(set(o), set(r)) for o, r in zip(outputs, references, strict=True)]
    places = {name: place for place, name in enumerate(sorted({label for o, r in pairs for label in o | r}))}
    correct = np.array([o == r for o, r in pairs])
    sides = [_index(sets, places) for sets in ([o & r for o, r in pairs], [o for o, _ in pairs], [r for _, r in pairs])]
    count = len(pairs)
    random, samples = np.random.default_rng(SEED), _count_samples(count)
    values = np.empty((samples, 3))
    for sample in range(samples):
        times = np.bincount(random.integers(0, count, size=count), minlength=count)
        right, chosen, true = (
            np.bincount(labels, weights=times[rows], minlength=len(places)) for rows, labels in sides
        )
        either = chosen + true
        f1 = 2 * right[either > 0] / either[either > 0]
        values[sample] = (
            times[correct].sum() / count,
            2 * right.sum() / max(either.sum(), 1),
            f1.sum() / max(len(f1), 1),
        )
    names = ("accuracy", "micro_f1", "macro_f1")
    return Drawn(correct, {name: 100 * values[:, place] for place, name in enumerate(names)})


def _count_samples(sources: int) -> int:
    return max(1, min(MAX_SAMPLES, MAX_DRAWN_SENTENCES // sources))


def _index(
    sets: Sequence[set[str]], places: Mapping[str, int]
) -> tuple[Int64[np.ndarray, " m"], Int64[np.ndarray, " m"]]:
    """Return the row and the number of every label of every source."""
    found = [(row, places[label]) for row, labels in enumerate(sets) for label in labels]
    rows, labels = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return rows, labels


def _score(outputs: LabelSets, references: LabelSets, *, many: bool) -> list[Metric]:
    """Return the metrics that an evaluation has, but for the calibration."""
    whole = [["|".join(sorted(labels)) for labels in side] for side in (outputs, references)]
    return [accuracy(*whole), *(multi_label_f1(outputs, references) if many else [macro_f1(*whole)])]


def _test(metric: Metric, drawn: Drawn, base: Metric, baseline: Drawn | None) -> Tested:
    """Return a metric with its interval and, given a baseline, the p-value of the difference."""
    values = drawn.values[metric.name]
    kind = "mcnemar-exact" if metric.name == "accuracy" else "bootstrap"
    signature = f"{metric.signature}|test:{kind}|bs:{len(values)}|seed:{SEED}"
    signed = Metric(metric.name, metric.value, signature, metric.higher_is_better)
    interval = float(estimate_ci(values)[1])
    if baseline is None:
        return Tested(signed, interval)
    if metric.name == "accuracy":
        found = mcnemar(baseline.correct.tolist(), drawn.correct.tolist())
        return Tested(signed, interval, found.p_value, found)
    difference = metric.value - base.value
    apart = np.abs(values - baseline.values[metric.name] - difference) >= abs(difference)
    return Tested(signed, interval, (1 + int(apart.sum())) / (1 + len(values)))
