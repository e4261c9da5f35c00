"""Many sequences of ids end to end in one array, and some of them as a padded batch."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int, Int32, Int64
from torch import Tensor

from seq2see.core.special_tokens import PAD
from seq2see.data.modalities.modality import Sources


@dataclass(frozen=True)
class Sequences(Sources):
    """Many sequences of ids, end to end in one array.

    Args:
        ids: the ids of all sequences, `[total]`.
        bounds: where each sequence begins in `ids`, and where the last one ends, `[n_plus_1]`.
    """

    ids: Int32[np.ndarray, " total"]
    bounds: Int64[np.ndarray, " n_plus_1"]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, row: int) -> Int32[np.ndarray, " length"]:
        return self.ids[self.bounds[row] : self.bounds[row + 1]]

    def gather(self, rows: Sequence[int]) -> tuple[Int[Tensor, "b t"], Bool[Tensor, "b t"]]:
        """Return some sequences as one padded tensor `[b t]`, and the mask `[b t]` that is True where it holds ids.

        Args:
            rows: the numbers of the sequences, counted from 0.
        """
        return pad([self[row] for row in rows])

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The length of every sequence."""
        return np.diff(self.bounds)

    def count(self, number: int) -> int:
        """Return how often an id occurs in all sequences.

        Args:
            number: the id.
        """
        return int(np.count_nonzero(self.ids == number))

    @property
    def token_sequences(self) -> "Sequences":
        """These sequences."""
        return self

    def keys(self) -> Iterable[Hashable]:
        """Return the ids of every sequence as bytes."""
        return (self[row].tobytes() for row in range(len(self)))


def pack(rows: Sequence[Sequence[int]]) -> Sequences:
    """Put lists of ids end to end into one array.

    Args:
        rows: the ids of each sequence.
    """
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    return Sequences(np.fromiter((number for row in rows for number in row), np.int32, int(bounds[-1])), bounds)


def pad(
    rows: Sequence[Sequence[int]] | Sequence[Int[np.ndarray, " _"]],
) -> tuple[Int[Tensor, "b t"], Bool[Tensor, "b t"]]:
    """Return rows of ids as one tensor `[b t]`, and the mask `[b t]` that is True where it holds ids.

    Args:
        rows: the ids of each row; there must be at least one row.
    """
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    padded = np.full(mask.shape, PAD, dtype=np.int64)
    padded[mask] = np.concatenate([np.asarray(row) for row in rows])
    return torch.from_numpy(padded), torch.from_numpy(mask)
