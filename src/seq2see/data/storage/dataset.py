"""Prepared data: ids in flat arrays, cached by content and read through memory maps."""

import json
from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from seq2see.core.errors import DataError
from seq2see.data.modalities.modality import Modality, Sources
from seq2see.data.modalities.target import Target
from seq2see.data.pairs import Pairs
from seq2see.data.storage.cache import name_content, read_or_make
from seq2see.data.storage.packed import Sequences, pack
from seq2see.data.tokenizers import Tokenizer
from seq2see.system.files import cache_folder as cache_folder


@dataclass(frozen=True)
class Store:
    """Prepared sources and targets of a split, row by row.

    Args:
        source: the sources, ready for an encoder.
        target: the ids of the targets: tokens with the end mark last, or labels.
        fingerprint: a name that follows from the pairs, the modality, the target and the length limit.
        left_out: the number of pairs that are left out because they are over the length limit.
    """

    source: Sources
    target: Sequences
    fingerprint: str
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def rows_by_source(self) -> Sequence[Sequence[int]]:
        """The rows of each source: several, where an image has several captions."""
        rows: dict[Hashable, list[int]] = {}
        for row, key in enumerate(self.source.keys()):
            rows.setdefault(key, []).append(row)
        return list(rows.values())

    @cached_property
    def _rows_with_same_source(self) -> dict[int, Sequence[int]]:
        return {row: rows for rows in self.rows_by_source for row in rows}

    def references(self, row: int) -> list[list[int]]:
        """Return the ids of all targets that the source of a row has in the store.

        Args:
            row: the row, counted from 0.
        """
        return [self.target[other].tolist() for other in self._rows_with_same_source[row]]


def prepare(
    pairs: Pairs, source: Modality, target: Target, *, max_tokens: int, cache: Path, encoder: object = None
) -> Store:
    """Return the ids of all pairs that are not too long, from the cache if they were made before.

    Args:
        pairs: the pairs of a split.
        source: the modality of the sources.
        target: the vocabulary or labels of the targets.
        max_tokens: the largest number of ids of a side, the end mark included; longer pairs are left out. Documents and
            images have limits of their own.
        cache: the folder of prepared data.
        encoder: the encoder that reads the sources; a frozen one may have its features computed beforehand.

    Raises:
        DataError: all pairs are too long, or the cache cannot be written.
    """
    fingerprint = name_content(f"2 {max_tokens}", (source.to_json(), target.to_json(), *pairs.source, *pairs.target))
    return source.store(pairs, target, fingerprint=fingerprint, max_tokens=max_tokens, cache=cache, encoder=encoder)


def store_sources(
    pairs: Pairs,
    source: Modality,
    target: Target,
    *,
    fingerprint: str,
    max_tokens: int,
    cache: Path,
    encoder: object = None,
) -> Store:
    """Return the sources that their modality prepares, with the ids of their targets; pairs with a long target are left
    out.

    Args:
        pairs: the pairs of a split.
        source: the modality that prepares the sources.
        target: the vocabulary or labels of the targets.
        fingerprint: the name of the content.
        max_tokens: the largest number of ids of a target, the end mark included; sources are not limited.
        cache: the folder of prepared data.
        encoder: the encoder that reads the sources; a frozen one may have its features computed beforehand.
    """
    rows = target.ids(pairs.target)
    kept = [row for row, ids in enumerate(rows) if len(ids) <= max_tokens]
    _need_some(kept, rows, max_tokens)
    sources = source.prepare([pairs.source[row] for row in kept], cache=cache, encoder=encoder)
    return Store(sources, pack([rows[row] for row in kept]), fingerprint, len(rows) - len(kept))


def store_ids(
    pairs: Pairs, source: Tokenizer, target: Target, *, fingerprint: str, max_tokens: int, folder: Path
) -> Store:
    """Return the ids of both sides of pairs of texts, stored in a folder of the cache.

    Args:
        pairs: the pairs of a split.
        source: the tokenizer of the sources.
        target: the vocabulary or labels of the targets.
        fingerprint: the name of the content.
        max_tokens: the largest number of ids of a side, the end mark included; longer pairs are left out.
        folder: the folder of these ids, which is made if it is missing or damaged.
    """
    return read_or_make(
        folder,
        lambda draft: _make(draft, pairs, source, target, max_tokens),
        lambda made: _open(made, fingerprint),
    )


def _make(folder: Path, pairs: Pairs, source: Tokenizer, target: Target, max_tokens: int) -> None:
    rows = list(zip(source.ids(pairs.source), target.ids(pairs.target), strict=True))
    kept = [row for row in rows if max(len(row[0]), len(row[1])) <= max_tokens]
    _need_some(kept, rows, max_tokens)
    for name, side in (("source", 0), ("target", 1)):
        packed = pack([row[side] for row in kept])
        np.save(folder / f"{name}.ids.npy", packed.ids)
        np.save(folder / f"{name}.bounds.npy", packed.bounds)
    (folder / "info.json").write_text(json.dumps({"left_out": len(rows) - len(kept)}))


def _need_some(kept: Sized, rows: Sized, max_tokens: int) -> None:
    if not kept:
        raise DataError(f"all {len(rows)} pairs are longer than {max_tokens} tokens; raise data.max_tokens.")


def _open(folder: Path, fingerprint: str) -> Store:
    source, target = (_open_side(folder, name) for name in ("source", "target"))
    if len(source) != len(target):
        raise ValueError("source and target do not fit each other")
    left_out = json.loads((folder / "info.json").read_text())["left_out"]
    return Store(source, target, fingerprint, int(left_out))


def _open_side(folder: Path, name: str) -> Sequences:
    ids = np.load(folder / f"{name}.ids.npy", mmap_mode="r")
    bounds = np.load(folder / f"{name}.bounds.npy", mmap_mode="r")
    if (ids.dtype, bounds.dtype, ids.ndim, bounds.ndim) != (np.int32, np.int64, 1, 1):
        raise ValueError("the arrays are not those of a store")
    if bounds[0] != 0 or bounds[-1] != len(ids) or (np.diff(bounds) < 1).any():
        raise ValueError("the arrays do not fit each other")
    return Sequences(ids, bounds)
