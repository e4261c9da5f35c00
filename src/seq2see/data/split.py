"""Held-out data: a split by source text, so that no source is on both sides."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import PurePath

from seq2see.core.errors import DataError
from seq2see.data.formats.image_paths import is_image
from seq2see.data.pairs import Pairs

LEAST = 10  # held-out sources, as far as twice the share permits: fewer would say little


def split_pairs(
    pairs: Pairs, *, held_out: float, seed: int, labels: Callable[[str], Iterable[str]] | None = None
) -> tuple[Pairs, Pairs]:
    """Divide pairs into (training, held out): all pairs of one source go to the same side.

    The choice follows from the texts and the seed. For images it follows from the last two names of their paths, so
    that data may be moved to another folder or machine.

    Args:
        pairs: the pairs to divide, with at least two different sources.
        held_out: the share of the sources to hold out, between 0 and 1; of few sources up to twice as many, towards
            ten.
        seed: the seed of the choice.
        labels: returns the labels of a target; then no source is held out that alone has a label. None if targets are
            texts.

    Raises:
        DataError: there are fewer than two sources, or every source has a label that no other has.
    """
    numbers = {source: _number(_shorten(source), seed) for source in set(pairs.source)}
    if len(numbers) < 2:
        raise DataError(
            "training needs at least two different sources, one to train on and one to hold out; "
            f"got {len(numbers)}; add pairs, or name held-out data as data.valid."
        )
    known = _Known(pairs, labels)
    least = max(1, min(LEAST, ceil(2 * held_out * len(numbers))))
    chosen: set[str] = set()
    for source in sorted(numbers, key=numbers.__getitem__):
        enough = len(chosen) >= least and numbers[source] >= held_out * 2**64
        if enough or len(chosen) == len(numbers) - 1:
            break
        if known.spares(source):
            chosen.add(source)
    if not chosen:
        raise DataError(
            "every source has a label that no other source has, so none can be held out; add sources for "
            "rare labels, or name held-out data as data.valid."
        )
    kept = [row for row, source in enumerate(pairs.source) if source not in chosen]
    held = [row for row, source in enumerate(pairs.source) if source in chosen]
    return pairs.take(kept), pairs.take(held)


class _Known:
    """How many sources of the training data have each label."""

    def __init__(self, pairs: Pairs, labels: Callable[[str], Iterable[str]] | None) -> None:
        self.labels: dict[str, set[str]] = {}
        if labels is not None:
            for source, target in zip(pairs.source, pairs.target, strict=True):
                self.labels.setdefault(source, set()).update(labels(target))
        self.counts = Counter(label for each in self.labels.values() for label in each)

    def spares(self, source: str) -> bool:
        """Take a source out of the counts, and return True, if all its labels have other sources; else return False."""
        own = self.labels.get(source, set())
        if any(self.counts[label] < 2 for label in own):
            return False
        self.counts.subtract(own)
        return True


def _shorten(source: str) -> str:
    """Return a text as it is, and of an image's path the last two names."""
    return "/".join(PurePath(source).parts[-2:]) if is_image(source) else source


def _number(text: str, seed: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "big")
