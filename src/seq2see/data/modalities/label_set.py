"""The labels of a classifier: those that the training data has."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from seq2see.core.errors import DataError, TokenError
from seq2see.core.json_text import read_json
from seq2see.core.registry import complain, shorten
from seq2see.core.unicode import is_text
from seq2see.data.formats.headers import list_names
from seq2see.data.storage.packed import Sequences

MAX_LABEL = 1_000  # characters


class _LabelFile(TypedDict):
    """The content of a file of labels."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]

    kind: Literal["labels"]
    labels: Annotated[list[Annotated[str, MinLen(1), MaxLen(MAX_LABEL)]], MinLen(1)]
    counts: list[Annotated[int, Ge(1), Le(2**53)]]
    sources: Annotated[int, Ge(1), Le(2**53)]
    separator: Annotated[str, MinLen(1), MaxLen(MAX_LABEL)] | None


LABELS: TypeAdapter[_LabelFile] = TypeAdapter(_LabelFile)


class Labels:
    """One label for each source; with a separator, one or several.

    Args:
        separator: the text between the labels of one source, such as `|` or a comma; None or an empty text means one
            label.
    """

    def __init__(self, *, separator: str | None = None) -> None:
        self.separator = separator or None  # nothing between them: one label

    def learn(self, targets: Iterable[str]) -> "LabelSet":
        """Collect all labels of the training data, sorted, with how often each occurs.

        Args:
            targets: the target of each source of the training data.

        Raises:
            DataError: there are fewer than two different labels.
        """
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
        """Return the labels that `to_json` described.

        Args:
            text: the content of the file.

        Raises:
            TokenError: the file does not describe labels.
        """
        try:
            known = LABELS.validate_python(read_json(text))
        except ValidationError as error:
            problem = error.errors()[0]
            what = complain(".".join(map(str, problem["loc"])), problem)
            raise TokenError(f"this is not a file of labels: {what}") from None
        except ValueError as error:
            raise TokenError(f"this is not a file of labels: {shorten(str(error))[1:-1]}.") from None
        names, counts = known["labels"], known["counts"]
        if len(counts) != len(names) or len(set(names)) != len(names) or not all(map(is_text, names)):
            raise TokenError("this is not a file of labels: each must be a text that occurs once, with its count.")
        return LabelSet(tuple(names), tuple(counts), known["sources"], known["separator"])


@dataclass(frozen=True)
class LabelSet:
    """The labels of a run; the id of a label is its place, counted from 0.

    Args:
        names: the labels, sorted.
        counts: the number of training sources that have each label.
        sources: the number of training sources.
        separator: the text between the labels of one source; None if each source has one label.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    sources: int
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
        """Return the labels of one target.

        Args:
            target: a target as the data has it.
        """
        return split_labels(target, self.separator)

    def unknown_share(self, targets: Sequences) -> float:
        """Return 0: a target with a label that the training data does not have is refused.

        Args:
            targets: the ids of targets, which are not read.
        """
        return 0.0

    def ids(self, targets: Sequence[str]) -> list[list[int]]:
        """Return the ids of the labels of each source, in the order of the data, without repetitions and end mark.

        Args:
            targets: targets as the data has them.

        Raises:
            DataError: a target has no label, or one that the training data does not have.
        """
        places = self.vocabulary
        rows = [list(dict.fromkeys(split_labels(target, self.separator))) for target in targets]
        for target, row in zip(targets, rows, strict=True):
            if not row:
                raise DataError(f"each source must have a label; got {shorten(target)}; fix it, or leave it out.")
            if not places.keys() >= set(row):
                new, known = shorten(next(label for label in row if label not in places)), list_names(self.names)
                raise DataError(f"the label {new} does not occur in the training data (known: {known}); fix it.")
        return [[places[label] for label in row] for row in rows]

    def knows(self, target: str) -> bool:
        """Tell whether all labels of a target are among these.

        Args:
            target: a target as the data has it.
        """
        return set(self.labels(target)) <= self.vocabulary.keys()

    @property
    def balance(self) -> list[float]:
        """The weights with which all labels count alike: n / (k n_j) for one label, max(n - n_j, 1) / n_j for several.

        n is the number of training sources, k that of labels, and n_j that of sources with label j. For several labels
        the weight is that of yes against no for each label.
        """
        if self.many:
            return [max(self.sources - count, 1) / count for count in self.counts]  # a label of all still learns
        return [self.sources / (len(self) * count) for count in self.counts]

    def join(self, ids: Sequence[int]) -> str:
        """Return the labels of some ids as they are written in data.

        Args:
            ids: the ids of labels; several only if there is a separator.
        """
        return (self.separator or "").join(self.names[number] for number in ids)

    @property
    def form(self) -> str:
        """Whether a target is one label or several."""
        return "labels" if self.many else "label"

    def to_json(self) -> str:
        """Return the labels as JSON, from which `Labels.from_json` makes them again."""
        known = {"labels": self.names, "counts": self.counts, "sources": self.sources, "separator": self.separator}
        return json.dumps({"kind": "labels", **known}, indent=1, ensure_ascii=False)


def split_labels(target: str, separator: str | None) -> list[str]:
    """Return the labels of one target, without the spaces around them.

    Args:
        target: a target as the data has it.
        separator: the text between labels; None takes the whole target as one label.
    """
    pieces = [target] if separator is None else target.split(separator)
    return [piece.strip() for piece in pieces if piece.strip()]
