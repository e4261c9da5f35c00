"""Held-out data: a split by source text, so that no source is on both sides."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import PurePath

from seq2see.core.errors import DataError
from seq2see.data.album import is_picture
from seq2see.data.pairs import Pairs


def split_pairs(pairs: Pairs, *, held_out: float, seed: int) -> tuple[Pairs, Pairs]:
    """(training, held out): all pairs of one source go to one side; the choice follows from text and seed.

    That of pictures follows from their names, so that data may be moved to another folder or machine.
    """
    numbers = {source: _number(_shorten(source), seed) for source in set(pairs.source)}
    if len(numbers) < 2:
        raise DataError(
            "training needs at least two different sources, one to learn from and one to check on; "
            f"got {len(numbers)}; add pairs, or name held-out data as data.valid."
        )
    # however small the data or the share, each side gets a source
    limit = min(max(held_out * 2**64, min(numbers.values()) + 1), max(numbers.values()))
    chosen = [numbers[source] < limit for source in pairs.source]
    kept = [row for row, out in enumerate(chosen) if not out]
    held = [row for row, out in enumerate(chosen) if out]
    return pairs.take(kept), pairs.take(held)


def return_new_labels(train: Pairs, held: Pairs, labels: Callable[[str], Iterable[str]]) -> tuple[Pairs, Pairs]:
    """(training, held out) again: a source with a label that training lacks goes there, for it must know them all."""
    known = {label for target in train.target for label in labels(target)}
    returned: set[str] = set()
    for source, target in zip(held.source, held.target, strict=True):
        new = set(labels(target)) - known
        known |= new
        returned |= {source} if new else set()
    if not returned:
        return train, held
    back = [row for row, source in enumerate(held.source) if source in returned]
    rest = [row for row, source in enumerate(held.source) if source not in returned]
    if not rest:
        raise DataError(
            "all held-out sources have labels that no other source has, so nothing is left to check on; add sources "
            "for rare labels, or name held-out data as data.valid."
        )
    return train.join(held.take(back)), held.take(rest)


def _shorten(source: str) -> str:
    """A text as it is, of a picture's path the last two names."""
    return "/".join(PurePath(source).parts[-2:]) if is_picture(source) else source


def _number(text: str, seed: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "big")
