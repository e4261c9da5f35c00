"""The modality of sources: everything that differs between texts, documents and images, behind one object.

Code elsewhere asks a `Modality` and never which kind it is. `Sources` are many sources, ready for an encoder.
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
    from seq2see.data.modalities.target import Target
    from seq2see.data.pairs import Pairs
    from seq2see.data.storage.dataset import Store
    from seq2see.data.storage.packed import Sequences
    from seq2see.data.tokenizers import Tokenizer

Name = Literal["text", "document", "image"]
DataKind = Literal["text", "images"]  # what the files of a data set hold as sources
Grid = tuple[int, int]  # rows and columns of cells of an image
Progress = Callable[[int, int], None]  # is called with how many are done, and how many there are


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document, or a piece of one that is too long.

    Args:
        ids: the ids of its words; for a whole text also the end mark.
        words: the word of each id, with offsets into the raw text.
    """

    ids: tuple[int, ...]
    words: tuple[Token, ...]

    @property
    def span(self) -> Span:
        """Where the sentence begins and ends in the raw text."""
        return self.words[0].start, self.words[-1].end


def find_unknown(modality: "Modality", source: str) -> tuple[Token, ...]:
    """Return the pieces of a source that the vocabulary does not have: characters or words, as the tokenizer divides.

    Args:
        modality: how the source is read; an image has no such pieces.
        source: a raw text, or the path of an image.
    """
    return tuple(word for sentence in modality.sentences(source) for word in sentence.words if word.unknown)


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
        """Return some sources as one padded batch `[b ...]`, and the mask that is True where there is a position.

        Args:
            rows: the numbers of the sources, counted from 0.
        """

    def fill(self, *, training: bool = False, progress: Progress | None = None) -> None:  # noqa: B027 (most have none)
        """Compute now what would otherwise take long at the first `gather`.

        Args:
            training: whether data augmentation needs more than the sources themselves, such as mirror images.
            progress: called with how many are done and how many there are; None reports nothing.
        """

    def vary(self, *, seed: int, epoch: int) -> "Sources":
        """Return the sources as one epoch of training sees them, if there is data augmentation.

        Args:
            seed: the seed of the training.
            epoch: the number of the epoch, from 0; the same seed and epoch give the same sources.
        """
        return self

    @property
    def token_sequences(self) -> "Sequences | None":
        """The tokens of all texts or sentences, one row each; None where there are none."""
        return None

    def keys(self) -> Iterable[Hashable]:
        """Return a value for each source that is equal for equal sources, so that their targets can be grouped."""
        return range(len(self))


@runtime_checkable
class Modality(Protocol):
    """How sources of one kind are read: the tokenizer of texts, and what takes its place for documents and images."""

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
        """Return a source as a caller gave it: a text, or the path of an image.

        Args:
            given: any object.

        Raises:
            TokenError: the object is no source of this modality.
        """

    def accepts(self, file: Path) -> bool:
        """Tell whether a file may be given to such a run: an image may not, where texts are read.

        Args:
            file: a path, whose file need not exist.
        """

    def is_blank(self, source: str) -> bool:
        """Tell whether there is nothing to read.

        Args:
            source: a raw text, or the path of an image.
        """

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """Return what is wrong with each source that cannot be read; a text can always be read.

        Args:
            sources: raw texts, or paths of images.
            progress: called with how many are done and how many there are; None reports nothing.
        """

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> Sources:
        """Prepare many sources for an encoder; what takes long is stored in the cache, if there is one.

        Args:
            sources: raw texts, or paths of images.
            cache: the folder of prepared data; None stores nothing.
            encoder: the encoder that reads the sources; a frozen one may have its features computed beforehand.
        """

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
        """Prepare the pairs of a split for training; those that are too long are left out.

        Args:
            pairs: the pairs of a split.
            target: the vocabulary or labels of the targets.
            fingerprint: a name of the content, for the cache.
            max_tokens: the largest number of ids of a target, and of a source if `count_tokens` counts its tokens.
            cache: the folder of prepared data.
            encoder: the encoder that reads the sources; a frozen one may have its features computed beforehand.
        """

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """Count the tokens of each source that `data.max_tokens` limits: 0 where sources have limits of their own.

        Args:
            sources: raw texts, or paths of images.
        """

    def cost(self, source: str) -> int:
        """Return what reading one source costs, in tokens of a text.

        Args:
            source: a raw text, or the path of an image.
        """

    def tokens(self, source: str) -> tuple[Token, ...]:
        """Return the tokens of a text with their offsets; nothing for other sources.

        Args:
            source: a raw text, or the path of an image.
        """

    def sentences(self, source: str) -> list[Sentence]:
        """Return the sentences of a document; a text is one, and an image has none.

        Args:
            source: a raw text, or the path of an image.
        """

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """Return what each position of a memory is: a token of a text, a sentence of a document, a cell of an image.

        Args:
            source: a raw text, or the path of an image.
            grid: the rows and columns of an image's cells; None for a memory without cells.
        """

    def occlusion_units(self, source: str, grid: Grid) -> Sequence[Span] | Sequence[Box]:
        """Return what leave-one-out occlusion removes: words of a text, sentences of a document, regions of an image.

        Args:
            source: a raw text, or the path of an image.
            grid: the rows and columns of an image's regions; texts ignore it.
        """

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """Return the source itself, and then once without each unit, ready for an encoder.

        Args:
            source: a raw text, or the path of an image.
            units: spans of a text, or regions of an image.
        """

    def group_references(self, pairs: "Pairs") -> "Pairs":
        """Return the pairs with all references of one source together.

        Args:
            pairs: the pairs of a split.
        """

    def to_json(self) -> str:
        """Return the modality as JSON, from which `read_modality` makes it again."""
