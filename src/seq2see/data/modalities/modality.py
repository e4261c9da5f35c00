"""The modality of sources: everything that differs between texts, documents and images, behind one object.

Code elsewhere asks a `Modality` and never which kind it is. `Sources` are many sources, ready for an encoder. A
`Target` is what outputs consist of.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int64
from torch import Tensor

from seq2see.core.box import Box
from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.core.words import Span

if TYPE_CHECKING:
    from seq2see.data.modalities.label_set import LabelSet
    from seq2see.data.pairs import Pairs
    from seq2see.data.storage.dataset import Store
    from seq2see.data.storage.packed import Sequences
    from seq2see.data.tokenizers import Tokenizer

Name = Literal["text", "document", "image"]
DataKind = Literal["text", "images"]  # what the files of a data set hold as sources
Grid = tuple[int, int]  # rows and columns of an image's cells
Progress = Callable[[int, int], None]  # hears how many are done, of how many


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document, or a piece of one that is too long: its ids, and its words with offsets."""

    ids: tuple[int, ...]
    words: tuple[Token, ...]

    @property
    def span(self) -> Span:
        """Where it begins and ends in the raw text."""
        return self.words[0].start, self.words[-1].end


class Sources(ABC):
    """All sources of a split, ready for an encoder."""

    @property
    @abstractmethod
    def lengths(self) -> Int64[np.ndarray, " _"]:
        """The positions of each source: tokens of a text, words of a document, 1 for an image."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def gather(self, rows: Sequence[int]) -> tuple[Tensor, Bool[Tensor, "..."]]:
        """Some sources as one padded batch, and the mask of their positions: what an encoder is called with."""

    def fill(self, *, training: bool = False, progress: Progress | None = None) -> None:  # noqa: B027 (most have none)
        """Compute now what would otherwise take long at the first `gather`."""

    def vary(self, *, seed: int, epoch: int) -> "Sources":
        """The sources as one epoch of training sees them, if there is data augmentation."""
        return self

    @property
    def token_sequences(self) -> "Sequences | None":
        """The tokens of all texts or sentences, one row each; None where there are none."""
        return None

    def keys(self) -> Iterable[Hashable]:
        """A value for each source that is equal for equal sources, so that their targets can be grouped."""
        return range(len(self))


@runtime_checkable
class Modality(Protocol):
    """How sources of one kind are read: a learned tokenizer of texts, and its like for documents and images."""

    name: ClassVar[Name]
    reads: ClassVar[DataKind]
    max_batch: ClassVar[int | None]  # sources that are decoded together at most; None: as many as the positions permit

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that an encoder is built with: {"vocabulary": 100} or {"image_size": 224}."""

    @property
    def tokenizer(self) -> "Tokenizer | None":
        """What divides its texts into tokens; None where there are no texts."""

    def check(self, given: object) -> str:
        """A source as a caller gave it: a text, or the path of an image; anything else is an error."""

    def accepts(self, file: Path) -> bool:
        """Whether a file may be given to such a run: an image may not, where texts are read."""

    def is_blank(self, source: str) -> bool:
        """Whether there is nothing to read."""

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """What is wrong with each source that cannot be read; a text can always be read."""

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> Sources:
        """Many sources ready for an encoder; what takes long is kept in the cache, if there is one."""

    def store(
        self,
        pairs: "Pairs",
        target: "Target",
        *,
        fingerprint: str,
        max_tokens: int,
        cache: Path,
        encoder: object = None,
    ) -> "Store":
        """The pairs of a split that are not too long, ready for training."""

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """The tokens of each source that `data.max_tokens` limits: none where sources have limits of their own."""

    def cost(self, source: str) -> int:
        """What reading one source costs, in tokens of a text."""

    def tokens(self, source: str) -> tuple[Token, ...]:
        """The tokens of a text with their offsets; nothing for other sources."""

    def sentences(self, source: str) -> list[Sentence]:
        """The sentences of a document; a text is one, and an image has none."""

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """What each position of a memory is: a token of a text, a sentence of a document, a cell of an image's grid."""

    def occlusion_units(self, source: str, grid: Grid) -> Sequence[Span] | Sequence[Box]:
        """What leave-one-out occlusion removes: words of a text, sentences of a document, regions of an image."""

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """The source itself, and then once without each unit."""

    def group_references(self, pairs: "Pairs") -> "Pairs":
        """The pairs with all references of one source together."""

    def to_json(self) -> str:
        """Everything needed to make this object again."""


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
        """The ids of each target."""

    def labels(self, target: str) -> list[str]:
        """The labels of one target; a text has none."""

    def knows(self, target: str) -> bool:
        """Whether the training data permits this target: labels must have occurred, a text may be any."""

    def unknown_share(self, targets: "Sequences") -> float:
        """The share of tokens that the vocabulary does not have."""

    def to_json(self) -> str:
        """Everything needed to make this object again."""


def match_targets(mine: Target, other: Target) -> list[int] | None:
    """The ids that `other` has for the entries of `mine`, in the order of `mine`; None if the entries differ."""
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
        """None: a text has no labels."""
        return []

    def knows(self, target: str) -> bool:
        """Any text can be written, if need be with unknown tokens."""
        return True
