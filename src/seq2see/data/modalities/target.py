"""Targets: what outputs consist of, the tokens of a vocabulary or the labels of a set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from seq2see.data.modalities.label_set import LabelSet
    from seq2see.data.storage.packed import Sequences
    from seq2see.data.tokenizers import Tokenizer


@runtime_checkable
class Target(Protocol):
    """What outputs consist of: the tokens of a vocabulary, or the labels of a set."""

    @property
    def form(self) -> str:
        """What one target is: a text, one label, or several labels."""

    def __len__(self) -> int: ...

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """The id of every token or label."""

    @property
    def tokenizer(self) -> "Tokenizer | None":
        """What divides a text into tokens; None where targets are labels."""

    @property
    def label_set(self) -> "LabelSet | None":
        """The labels to choose from; None where targets are texts."""

    def ids(self, targets: Sequence[str]) -> list[list[int]]:
        """Return the ids of each target: tokens with the end mark last, or labels.

        Args:
            targets: the targets as the data has them.
        """

    def labels(self, target: str) -> list[str]:
        """Return the labels of one target; a text has none.

        Args:
            target: a target as the data has it.
        """

    def knows(self, target: str) -> bool:
        """Tell whether the training data permits this target: labels must have occurred, a text may be any.

        Args:
            target: a target as the data has it.
        """

    def unknown_share(self, targets: "Sequences") -> float:
        """Return the share of tokens that the vocabulary does not have, from 0 to 1.

        Args:
            targets: the ids of targets, as `ids` returns them.
        """

    def to_json(self) -> str:
        """Return the target as JSON, from which `read_target` makes it again."""


def match_targets(mine: Target, other: Target) -> list[int] | None:
    """Return the ids that `other` has for the entries of `mine`, in the order of `mine`; None if the entries differ.

    Args:
        mine: the target whose order counts.
        other: the target whose ids are returned.
    """
    here, there = mine.vocabulary, other.vocabulary
    if mine.form != other.form or here.keys() != there.keys():
        return None
    return [there[entry] for entry in sorted(here, key=here.__getitem__)]


class TextTarget:
    """What all targets that are texts have in common."""

    @property
    def form(self) -> str:
        """A target is a text."""
        return "text"

    @property
    def label_set(self) -> None:
        """A text has no labels."""
        return None

    def labels(self, target: str) -> list[str]:
        """Return nothing: a text has no labels.

        Args:
            target: a raw text.
        """
        return []

    def knows(self, target: str) -> bool:
        """Return True: any text can be written, if need be with unknown tokens.

        Args:
            target: a raw text.
        """
        return True
