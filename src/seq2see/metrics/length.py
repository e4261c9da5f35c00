"""Scores by the length of the source (Bahdanau et al. 2015, arXiv:1409.0473, figure 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seq2see.core.words import Unit, choose_unit, find_words
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, References, bleu, chrf, exact_match, permits_bleu

MIN_BUCKET_SENTENCES = 10  # a score of fewer says little, so such a bucket joins its neighbour
MAX_BUCKETS = 8  # before the last one takes the rare long sources
ROUND_WIDTHS = (1, 2, 5)  # times a power of ten


@dataclass(frozen=True)
class Bucket:
    """Holds the sources in one range of lengths.

    Args:
        low: the smallest length of the range, in words or characters; an empty source is in the first range too.
        high: the largest length of the range, included.
        rows: the indices of its sources, ascending.
        mean: the mean length of its sources.
    """

    low: int
    high: int
    rows: tuple[int, ...]
    mean: float

    @property
    def label(self) -> str:
        """Return the range for a legend: `11–20`."""
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"

    @property
    def few(self) -> bool:
        """Tell whether there are too few sources for a meaningful score."""
        return len(self.rows) < MIN_BUCKET_SENTENCES


@dataclass(frozen=True)
class Buckets:
    """Holds all sources by length.

    Args:
        unit: what the lengths count, words or characters.
        buckets: the ranges of lengths, ascending; none if there are no sources.
    """

    unit: Unit
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class LengthScores:
    """Holds the scores of several runs for each bucket of source lengths.

    Args:
        buckets: the buckets.
        scores: by the name of a metric, and then of a run, one number for each bucket.
        counted: what the sources are called.
    """

    buckets: Buckets
    scores: Mapping[str, Mapping[str, Sequence[float]]]
    counted: str = "sentences"

    def choose_metric(self, asked: str | None = None) -> str:
        """Return the metric asked for if it was computed; else BLEU, exact match of short texts, or accuracy of labels.

        Args:
            asked: the name of a metric; None asks for BLEU.
        """
        return next(metric for metric in (asked or "bleu", "bleu", "exact_match", "accuracy") if metric in self.scores)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return buckets and scores, for programs."""
        return {
            "unit": self.buckets.unit,
            "buckets": [
                {"low": each.low, "high": each.high, "mean": each.mean, "count": len(each.rows), "few": each.few}
                for each in self.buckets.buckets
            ],
            "scores": {
                metric: {run: list(values) for run, values in runs.items()} for metric, runs in self.scores.items()
            },
        }


def sort_by_length(sources: Sequence[str]) -> Buckets:
    """Divide the sources into ranges of equal, round width; ranges with few sources join a neighbour.

    Args:
        sources: the texts; their lengths count words, or characters in scripts without spaces.
    """
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
    """Return BLEU, chrF and exact match of each bucket; no BLEU if no reference has enough tokens for it.

    Args:
        buckets: the sources by length.
        outputs: one text for each source.
        references: one or several texts for each source.
        bleu_tokenizer: the name of one of sacrebleu's tokenizers.
    """
    scores, fluent = [], permits_bleu(references, tokenizer=bleu_tokenizer)
    for bucket in buckets.buckets:
        some = [outputs[row] for row in bucket.rows], [references[row] for row in bucket.rows]
        written = [bleu(*some, tokenizer=bleu_tokenizer)] if fluent else []
        scores.append([*written, chrf(*some), exact_match(*some)])
    return scores


def _choose_width(lengths: Sequence[int]) -> int:
    """Return the smallest round width with which at most MAX_BUCKETS ranges hold all but the longest twentieth."""
    usual = sorted(lengths)[(len(lengths) - 1) * 19 // 20]
    widths = (step * 10**power for power in range(12) for step in ROUND_WIDTHS)
    return next(width for width in widths if usual <= MAX_BUCKETS * width)


def _join(groups: list[tuple[int, list[int]]]) -> list[tuple[list[int], list[int]]]:
    """Join a range with few rows to the next one, and the last one to the one before."""
    joined: list[tuple[list[int], list[int]]] = []
    for number, rows in groups:
        if joined and len(joined[-1][1]) < MIN_BUCKET_SENTENCES:
            joined[-1] = [*joined[-1][0], number], [*joined[-1][1], *rows]
        else:
            joined.append(([number], list(rows)))
    if len(joined) > 1 and len(joined[-1][1]) < MIN_BUCKET_SENTENCES:
        numbers, rows = joined.pop()
        joined[-1] = [*joined[-1][0], *numbers], [*joined[-1][1], *rows]
    return joined


def _make_bucket(numbers: list[int], rows: list[int], lengths: Sequence[int], width: int) -> Bucket:
    found = [lengths[row] for row in rows]
    high = min((numbers[-1] + 1) * width, max(lengths))
    return Bucket(numbers[0] * width + 1, high, tuple(sorted(rows)), sum(found) / len(found))
