"""Data made ready once: ids in flat arrays, cached by content and read through memory maps."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from seq2see.core.errors import DataError
from seq2see.data.pairs import Pairs
from seq2see.data.tokenise import Tokenizer


@dataclass(frozen=True)
class Sequences:
    """Many sequences of ids, end to end in one array."""

    ids: Int32[np.ndarray, " total"]
    bounds: Int64[np.ndarray, " n_plus_1"]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, row: int) -> Int32[np.ndarray, " length"]:
        return self.ids[self.bounds[row] : self.bounds[row + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The length of every sequence."""
        return np.diff(self.bounds)


@dataclass(frozen=True)
class Store:
    """Source and target ids of a split, the end mark last in each."""

    source: Sequences
    target: Sequences
    fingerprint: str  # of texts and tokenizers together
    left_out: int = 0  # pairs over the length limit

    def __len__(self) -> int:
        return len(self.source)


def prepare(pairs: Pairs, source: Tokenizer, target: Tokenizer, *, max_tokens: int, cache: Path) -> Store:
    """The ids of all pairs of at most `max_tokens` tokens a side; from the cache if they were made before."""
    fingerprint = _fingerprint(pairs, source, target, max_tokens)
    folder = cache / fingerprint
    if not (folder / "info.json").exists():
        _write(folder, pairs, source, target, max_tokens)
    return _open(folder, fingerprint)


def cache_folder() -> Path:
    """Where made-ready data is kept: $SEQ2SEE_CACHE, or the user's cache folder."""
    base = os.environ.get("SEQ2SEE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "seq2see"


def pack(rows: Sequence[Sequence[int]]) -> Sequences:
    """Sequences in memory, from lists of ids."""
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    return Sequences(np.fromiter((number for row in rows for number in row), np.int32, int(bounds[-1])), bounds)


def _fingerprint(pairs: Pairs, source: Tokenizer, target: Tokenizer, max_tokens: int) -> str:
    digest = hashlib.sha256(f"1 {max_tokens}".encode())
    for piece in (source.to_json(), target.to_json(), *pairs.source, *pairs.target):
        digest.update(piece.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def _write(folder: Path, pairs: Pairs, source: Tokenizer, target: Tokenizer, max_tokens: int) -> None:
    rows = list(zip(source.ids(pairs.source), target.ids(pairs.target), strict=True))
    kept = [row for row in rows if max(len(row[0]), len(row[1])) <= max_tokens]
    if not kept:
        raise DataError(f"all {len(rows)} pairs are longer than {max_tokens} tokens; raise data.max_tokens.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".draft-"))
    try:
        for name, side in (("source", 0), ("target", 1)):
            packed = pack([row[side] for row in kept])
            np.save(draft / f"{name}.ids.npy", packed.ids)
            np.save(draft / f"{name}.bounds.npy", packed.bounds)
        (draft / "info.json").write_text(json.dumps({"left_out": len(rows) - len(kept)}))
        if not folder.exists():  # another process may have made the same data meanwhile
            draft.rename(folder)
    except OSError as error:
        raise DataError(f"the prepared data cannot be written: {error}; set SEQ2SEE_CACHE.", file=folder) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open(folder: Path, fingerprint: str) -> Store:
    try:
        sides = [
            Sequences(
                np.load(folder / f"{n}.ids.npy", mmap_mode="r"), np.load(folder / f"{n}.bounds.npy", mmap_mode="r")
            )
            for n in ("source", "target")
        ]
        info = json.loads((folder / "info.json").read_text())
        if any(len(side.ids) != side.bounds[-1] for side in sides):
            raise ValueError("the arrays do not fit each other")
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"the prepared data is damaged ({error}); delete this folder.", file=folder) from error
    return Store(sides[0], sides[1], fingerprint, info["left_out"])
