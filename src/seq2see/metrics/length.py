"""Scores by the length of the source: where a model without attention breaks down (Bahdanau et al. 2015, figure 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2see.core.word import Unit, choose_unit, find_words
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, References, bleu, chrf, exact_match, permits_bleu

FEW = 10  # sentences; a score of fewer says little, so such a bucket joins its neighbour
MANY = 8  # buckets at most, before the last one takes the rare long sources
STEPS = (1, 2, 5)  # times a power of ten: widths that people read easily


@dataclass(frozen=True)
class Bucket:
    """Sources of `low` to `high` words or characters."""

    low: int
    high: int
    rows: tuple[int, ...]
    mean: float  # length of its sources

    @property
    def label(self) -> str:
        """The range as people write it."""
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"

    @property
    def few(self) -> bool:
        """Whether there are too few sources for a score to mean much."""
        return len(self.rows) < FEW


@dataclass(frozen=True)
class Buckets:
    """All sources by length."""

    unit: Unit
    buckets: tuple[Bucket, ...]


def sort_by_length(sources: Sequence[str]) -> Buckets:
    """Cut the sources into ranges of equal, round width; ranges with few sources are joined to a neighbour."""
    unit = choose_unit(sources)
    lengths = [len(find_words(source, unit)) for source in sources]
    if not lengths:
        return Buckets(unit, ())
    width = _choose_width(lengths)
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(max(length - 1, 0) // width, []).append(row)
    joined = _join([(number, groups[number]) for number in sorted(groups)])
    return Buckets(unit, tuple(_make_bucket(numbers, rows, lengths, width) for numbers, rows in joined))


def score_buckets(
    buckets: Buckets, outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[list[Metric]]:
    """BLEU, chrF and exact match of each bucket; no BLEU where no reference has enough tokens for it."""
    scores, fluent = [], permits_bleu(references, tokenizer=bleu_tokenizer)
    for bucket in buckets.buckets:
        some = [outputs[row] for row in bucket.rows], [references[row] for row in bucket.rows]
        written = [bleu(*some, tokenizer=bleu_tokenizer)] if fluent else []
        scores.append([*written, chrf(*some), exact_match(*some)])
    return scores


def _choose_width(lengths: Sequence[int]) -> int:
    """The smallest round width under which at most `MANY` ranges hold all but the longest twentieth."""
    usual = sorted(lengths)[(len(lengths) - 1) * 19 // 20]
    widths = (step * 10**power for power in range(12) for step in STEPS)
    return next(width for width in widths if usual <= MANY * width)


def _join(groups: list[tuple[int, list[int]]]) -> list[tuple[list[int], list[int]]]:
    """Ranges and rows: one with few rows joins the next, the last one the one before."""
    joined: list[tuple[list[int], list[int]]] = []
    for number, rows in groups:
        if joined and len(joined[-1][1]) < FEW:
            joined[-1] = [*joined[-1][0], number], [*joined[-1][1], *rows]
        else:
            joined.append(([number], list(rows)))
    if len(joined) > 1 and len(joined[-1][1]) < FEW:
        numbers, rows = joined.pop()
        joined[-1] = [*joined[-1][0], *numbers], [*joined[-1][1], *rows]
    return joined


def _make_bucket(numbers: list[int], rows: list[int], lengths: Sequence[int], width: int) -> Bucket:
    found = [lengths[row] for row in rows]
    high = min((numbers[-1] + 1) * width, max(lengths))
    return Bucket(numbers[0] * width + 1, high, tuple(sorted(rows)), sum(found) / len(found))
