"""Documents that are prepared for an encoder: the ids of their words, and their files in the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor

from seq2see.core.special_tokens import PAD
from seq2see.data.modalities.modality import Sources
from seq2see.data.storage.packed import Sequences

FILES = ("ids", "words", "sentences", "cut")


@dataclass(frozen=True)
class Truncation:
    """How much of long documents is not read.

    Args:
        documents: the number of documents with sentences that are not read.
        words: the number of words that are not read.
        total: the number of words of all documents, read or not.
    """

    documents: int = 0
    words: int = 0
    total: int = 0


@dataclass(frozen=True)
class DocumentSources(Sources):
    """All documents of a split: the words of every sentence, and the sentences of every document.

    Args:
        words: the ids of every sentence, one row each, without end marks.
        bounds: the first sentence of each document, and behind them the number of all sentences, `[n_plus_1]`.
        truncated: how much of the documents is not read.
    """

    words: Sequences
    bounds: Int64[np.ndarray, " n_plus_1"]
    truncated: Truncation

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The number of words of each document, at least 1."""
        return np.maximum(np.diff(self.words.bounds[self.bounds]), 1)

    def gather(self, rows: Sequence[int]) -> tuple[Int[Tensor, "b u w"], Bool[Tensor, "b u w"]]:
        """Return some documents as one padded tensor of ids `[b u w]`, and the mask that is True where it has words.

        The tensor has the most sentences u of these documents, and the words w of the longest sentence. For a document
        without words the mask is False everywhere.

        Args:
            rows: the numbers of the documents, counted from 0.
        """
        spans = [self.words.bounds[self.bounds[row] : self.bounds[row + 1] + 1] for row in rows]
        lengths = np.zeros((len(rows), max(1, *(len(span) - 1 for span in spans))), dtype=np.int64)
        for row, span in enumerate(spans):
            lengths[row, : len(span) - 1] = np.diff(span)
        mask = np.arange(max(int(lengths.max()), 1)) < lengths[..., None]
        ids = np.full(mask.shape, PAD, dtype=np.int64)
        ids[mask] = np.concatenate([self.words.ids[span[0] : span[-1]] for span in spans])
        return torch.from_numpy(ids), torch.from_numpy(mask)

    @property
    def token_sequences(self) -> Sequences:
        """The words of all sentences."""
        return self.words

    @property
    def remarks(self) -> list[str]:
        """What people should know about these documents."""
        if not self.truncated.documents:
            return []
        share = self.truncated.words / self.truncated.total
        return [
            f"the end of {self.truncated.documents:,} of {len(self):,} documents is not read, because they have more "
            f"sentences than tokens.source.max_sentences permits; that is {share:.1%} of all words"
        ]


def save_documents(documents: DocumentSources, folder: Path) -> None:
    """Write prepared documents as arrays.

    Args:
        documents: the prepared documents.
        folder: an existing folder.
    """
    left_out = documents.truncated
    counts = np.array([left_out.documents, left_out.words, left_out.total], dtype=np.int64)
    for name, array in zip(FILES, (documents.words.ids, documents.words.bounds, documents.bounds, counts), strict=True):
        np.save(folder / f"{name}.npy", array)


def open_documents(folder: Path) -> DocumentSources:
    """Open the arrays that `save_documents` wrote, memory-mapped.

    Args:
        folder: their folder.

    Raises:
        ValueError: the arrays are not those of documents, or do not fit each other.
    """
    ids, words, sentences, counts = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in FILES)
    if [array.dtype for array in (ids, words, sentences, counts)] != [np.int32, np.int64, np.int64, np.int64]:
        raise ValueError("the arrays are not those of documents")
    if words[0] != 0 or words[-1] != len(ids) or sentences[-1] != len(words) - 1 or (np.diff(words) < 1).any():
        raise ValueError("the arrays do not fit each other")
    return DocumentSources(Sequences(ids, words), sentences, Truncation(*counts.tolist()))
