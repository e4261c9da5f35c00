"""Held-out data: a split by source text, so that no source is on both sides."""

import hashlib

from seq2see.core.errors import DataError
from seq2see.data.pairs import Pairs


def split_pairs(pairs: Pairs, *, held_out: float, seed: int) -> tuple[Pairs, Pairs]:
    """(training, held out): all pairs of one source go to one side; the choice follows from text and seed."""
    limit = held_out * 2**64
    chosen = [_number(source, seed) < limit for source in pairs.source]
    kept = [row for row, out in enumerate(chosen) if not out]
    held = [row for row, out in enumerate(chosen) if out]
    if not held and len(pairs) > 1:  # very small data: hold out the pair that comes nearest to the limit
        nearest = min(pairs.source, key=lambda source: _number(source, seed))
        held = [row for row, source in enumerate(pairs.source) if source == nearest]
        kept = [row for row, source in enumerate(pairs.source) if source != nearest]
    if not kept or not held:
        raise DataError(
            f"training needs at least two different sources, one to learn from and one to check on; got {len(pairs)}."
        )
    return pairs.take(kept), pairs.take(held)


def _number(text: str, seed: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "big")
