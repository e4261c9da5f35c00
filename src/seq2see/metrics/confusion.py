"""The confusion matrix: how often each label was taken for each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int64

from seq2see.core.errors import DataError

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_DENSE_LABELS = 1_000  # of more, the matrix is mostly zeros and too large to write


@dataclass(frozen=True)
class Confusion:
    """Holds the confusion matrix.

    Args:
        labels: the names of the rows and of the columns; empty for sources without an output.
        pairs: how often a right label was taken for a chosen one, by both; a pair that does not occur is left out.
    """

    labels: Sequence[str]
    pairs: Mapping[tuple[str, str], int]

    @cached_property
    def counts(self) -> Int64[np.ndarray, "v v"]:
        """Return how often a label (row) was taken for a label (column), [v v]."""
        places = {name: place for place, name in enumerate(self.labels)}
        counts = np.zeros((len(places), len(places)), dtype=np.int64)
        for (right, chosen), count in self.pairs.items():
            counts[places[right], places[chosen]] = count
        return counts

    def worst(self, most: int = 10) -> list[tuple[str, str, int]]:
        """Return the most frequent mistakes: the right label, the chosen one, how often.

        Args:
            most: how many different mistakes are returned at most.
        """
        places = {name: place for place, name in enumerate(self.labels)}
        wrong = [(right, chosen, count) for (right, chosen), count in self.pairs.items() if right != chosen]
        return sorted(wrong, key=lambda each: (-each[2], places[each[0]], places[each[1]]))[:most]

    def pool(self, most: int, *, name: str) -> "Confusion":
        """Return the matrix of the labels that take part in most mistakes, with all others as one label.

        Args:
            most: the number of labels that remain, the common one among them; a matrix of no more is returned as it is.
            name: the name of the common label, which comes last.
        """
        if len(self.labels) <= most:
            return self
        mistakes: Counter[str] = Counter()
        for right, chosen, count in self.worst(len(self.pairs)):
            mistakes.update({right: count, chosen: count})
        kept = set(sorted(self.labels, key=lambda label: -mistakes[label])[: most - 1])
        pairs: Counter[tuple[str, str]] = Counter()
        for (right, chosen), count in self.pairs.items():
            pairs[right if right in kept else name, chosen if chosen in kept else name] += count
        return Confusion([*(label for label in self.labels if label in kept), name], pairs)

    def to_dict(self) -> "dict[str, JsonValue] | None":
        """Return labels and counts, for programs; None for more than 1,000 labels."""
        if len(self.labels) > MAX_DENSE_LABELS:
            return None
        return {"labels": list(self.labels), "counts": self.counts.tolist()}


def count_confusion(
    outputs: Sequence[str], references: Sequence[str], *, labels: Sequence[str] | None = None
) -> Confusion:
    """Count how often each label was taken for each.

    Args:
        outputs: the label chosen for each source.
        references: the right label of each source.
        labels: the order of rows and columns, which must have every label that occurs; None sorts those that occur.
    """
    check_paired(outputs, references)
    names = sorted({*outputs, *references}) if labels is None else list(labels)
    strange = sorted({*outputs, *references} - set(names))
    if strange:
        raise DataError(f"all labels must be among the {len(names)} that are given; got {strange[0]!r} too.")
    return Confusion(names, Counter(zip(references, outputs, strict=True)))


def check_paired(outputs: Sequence[object], references: Sequence[object]) -> None:
    """Refuse outputs that are not as many as references.

    Args:
        outputs: one for each source.
        references: one for each source, at least one.

    Raises:
        DataError: their numbers differ, or there are none.
    """
    if not references or len(outputs) != len(references):
        raise DataError(
            f"a score needs references, and an answer for each; got {len(outputs)} answers and {len(references)} "
            "references."
        )
