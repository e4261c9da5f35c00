"""The labels of a classifier: those that the training data has."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from seq2see.core.errors import DataError, TokenError
from seq2see.data.storage.packed import Sequences


class Labels:
    """One label for each source; with a separator, one or several.

    Args:
        separator: the text between the labels of one source, such as `|` or a comma.
    """

    def __init__(self, *, separator: str | None = None) -> None:
        self.separator = separator or None  # nothing between them: one label

    def learn(self, targets: Iterable[str]) -> "LabelSet":
        """All labels of the training data, sorted, with how often each occurs."""
        rows = [set(split_labels(target, self.separator)) for target in targets]
        counts = Counter(label for row in rows for label in row)
        if len(counts) < 2:
            raise DataError(
                f"there must be at least two different labels to choose from; got {', '.join(map(repr, counts))}."
            )
        names = sorted(counts)
        return LabelSet(tuple(names), tuple(counts[name] for name in names), len(rows), self.separator)

    @staticmethod
    def from_json(text: str) -> "LabelSet":
        """The labels that `to_json` described."""
        try:
            known = json.loads(text)
            return LabelSet(tuple(known["labels"]), tuple(known["counts"]), int(known["sources"]), known["separator"])
        except (ValueError, LookupError, TypeError) as error:
            raise TokenError(f"this is not a file of labels: {error}.") from None


@dataclass(frozen=True)
class LabelSet:
    """The labels of a run; the id of a label is its place."""

    names: tuple[str, ...]
    counts: tuple[int, ...]  # sources of the training data with each
    sources: int  # of the training data
    separator: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def many(self) -> bool:
        """Whether a source may have several labels."""
        return self.separator is not None

    @cached_property
    def vocabulary(self) -> Mapping[str, int]:
        """The id of every label."""
        return {name: place for place, name in enumerate(self.names)}

    @property
    def tokenizer(self) -> None:
        """A label has no tokens."""
        return None

    @property
    def label_set(self) -> "LabelSet":
        """These labels."""
        return self

    def labels(self, target: str) -> list[str]:
        """The labels of one target."""
        return split_labels(target, self.separator)

    def unknown_share(self, targets: Sequences) -> float:
        """None: a target with a label that the training data does not have is refused."""
        return 0.0

    def ids(self, targets: Sequence[str]) -> list[list[int]]:
        """The ids of the labels of each source."""
        places = self.vocabulary
        rows = [list(dict.fromkeys(split_labels(target, self.separator))) for target in targets]
        for target, row in zip(targets, rows, strict=True):
            if not row:
                raise DataError(f"each source must have a label; got {target!r}; fix it, or leave the source out.")
            if not places.keys() >= set(row):
                new = next(label for label in row if label not in places)
                known = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self) > 8 else "")
                raise DataError(f"the label {new!r} does not occur in the training data (known: {known}); fix it.")
        return [[places[label] for label in row] for row in rows]

    def knows(self, target: str) -> bool:
        """Whether all labels of a target are among these."""
        return set(self.labels(target)) <= self.vocabulary.keys()

    @property
    def balance(self) -> list[float]:
        """Weights with which all labels count alike: of a label among others, or of yes against no."""
        if self.many:
            return [max(self.sources - count, 1) / count for count in self.counts]  # a label of all still learns
        return [self.sources / (len(self) * count) for count in self.counts]

    def join(self, ids: Sequence[int]) -> str:
        """The labels of some ids as they are written in data."""
        return (self.separator or "").join(self.names[number] for number in ids)

    @property
    def form(self) -> str:
        """Whether a target is one label or several."""
        return "labels" if self.many else "label"

    def to_json(self) -> str:
        """Everything needed to make these labels again."""
        known = {"labels": self.names, "counts": self.counts, "sources": self.sources, "separator": self.separator}
        return json.dumps({"kind": "labels", **known}, indent=1, ensure_ascii=False)


def split_labels(target: str, separator: str | None) -> list[str]:
    """The labels of one target, without the spaces around them."""
    pieces = [target] if separator is None else target.split(separator)
    return [piece.strip() for piece in pieces if piece.strip()]
