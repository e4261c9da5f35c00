"""What each part of a source is worth to an output: how much less likely it is without, beside the attention it got."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from seq2see.core.token import Token
from seq2see.core.word import Span, choose_unit, find_words
from seq2see.data.documents import DocumentCutter
from seq2see.inspect.attention import AttentionTrace, Fall, Grid
from seq2see.inspect.document import DocumentTrace, measure_falls
from seq2see.inspect.faithfulness import leave_one_out, list_cells
from seq2see.metrics.rank import compare_ranks
from seq2see.tasks.task import Output

FINEST, COARSEST = 8, 4  # regions a side that a picture is cut into, if its cells can be put together so


def measure_worth(
    task: Any, model: Any, trace: AttentionTrace | DocumentTrace, output: Output
) -> AttentionTrace | DocumentTrace:
    """The trace with what leaving out each word, sentence or region of a picture does to the output.

    Beside it stands the share of attention that it got over the whole output, in the last map to the source, if any.
    """
    if isinstance(trace, DocumentTrace):
        return measure_falls(task, model, trace, output)
    return _measure(task, model, trace, output)


def _measure(task: Any, model: Any, trace: AttentionTrace, output: Output) -> AttentionTrace:
    paid = trace.weights.mean(axis=0) if any(each.aligns for each in trace.maps) else None
    if trace.picture is None and trace.grid is None:
        parts = list_parts(task, output.source)
        falls = leave_one_out(task, model, output.source, output, parts)
        return _compare(trace, parts, falls, None if paid is None else _join(trace, parts, paid))
    regions = choose_regions(trace.grid)
    boxes = list_cells(regions)
    falls = leave_one_out(task, model, output.source, output, boxes)
    cells = None if paid is None or trace.grid is None else paid.reshape(_split(trace.grid, regions))
    places = [(number, number + 1) for number in range(len(boxes))]
    shares = None if cells is None else cells.sum(axis=(1, 3)).ravel().tolist()
    return replace(_compare(trace, places, falls, shares), regions=regions)


def list_parts(task: Any, source: str) -> list[Span]:
    """What is left out, one at a time: the words of a text, the sentences of a document."""
    if isinstance(task.source, DocumentCutter):
        return [sentence.span for sentence in task.source.encode(source)]
    return find_words(source, choose_unit([source]))


def choose_regions(grid: Grid | None) -> Grid:
    """Rows and columns of the regions that are left out: cells, or blocks of them where there are many."""
    if grid is None:
        return FINEST, FINEST
    rows, columns = (max((n for n in range(1, FINEST + 1) if side % n == 0), default=side) for side in grid)
    return (rows if rows >= COARSEST else grid[0], columns if columns >= COARSEST else grid[1])


def _split(grid: Grid, regions: Grid) -> tuple[int, int, int, int]:
    """The cells of a picture as regions with their cells, each in rows and columns."""
    return regions[0], grid[0] // regions[0], regions[1], grid[1] // regions[1]


def _join(trace: AttentionTrace, words: Sequence[Span], paid: Float[np.ndarray, " s"]) -> list[float]:
    """What all tokens of each word got together."""

    def belongs(token: Token, word: Span) -> bool:
        return token.start < token.end and word[0] <= token.start < word[1]

    tokens = list(zip(trace.source_tokens, paid.tolist(), strict=True))
    return [sum(share for token, share in tokens if belongs(token, word)) for word in words]


def _compare(
    trace: AttentionTrace, places: Sequence[Span], falls: Float[np.ndarray, " n"], weights: Sequence[float] | None
) -> AttentionTrace:
    shares: Sequence[float | None] = [None] * len(places) if weights is None else weights
    agreement = None if weights is None or len(places) < 2 else compare_ranks(weights, falls.tolist())
    parts = zip(places, falls.tolist(), shares, strict=True)
    return replace(trace, falls=tuple(Fall(*place, fall, share) for place, fall, share in parts), agreement=agreement)
