"""What each part of a source is worth to an output: how much less likely it is without, beside the attention it got."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from seq2see.core.token import Token
from seq2see.core.word import Span, choose_unit, find_words
from seq2see.inspect.attention import AttentionTrace, Fall, Grid
from seq2see.inspect.faithfulness import leave_one_out, list_cells
from seq2see.metrics.rank import compare_ranks
from seq2see.tasks.task import Output

FINEST, COARSEST = 8, 4  # regions a side that a picture is cut into, if its cells can be put together so


def measure_worth(task: Any, model: Any, trace: AttentionTrace, output: Output) -> AttentionTrace:
    """The trace with what leaving out each word, or each region of a picture, does to the output.

    Beside it stands the share of attention that it got over the whole output, in the last map to the source.
    """
    paid = trace.weights.mean(axis=0)
    if trace.grid is None:
        words = find_words(trace.source, choose_unit([trace.source]))
        return _compare(
            trace, words, leave_one_out(task, model, trace.source, output, words), _join(trace, words, paid)
        )
    regions = choose_regions(trace.grid)
    boxes = list_cells(regions)
    falls = leave_one_out(task, model, trace.source, output, boxes)
    shares = paid.reshape(regions[0], trace.grid[0] // regions[0], regions[1], -1).sum(axis=(1, 3)).ravel()
    places = [(number, number + 1) for number in range(len(boxes))]
    return replace(_compare(trace, places, falls, shares.tolist()), regions=regions)


def choose_regions(grid: Grid) -> Grid:
    """Rows and columns of the regions that are left out: cells, or blocks of them where there are many."""
    rows, columns = (max((n for n in range(1, FINEST + 1) if side % n == 0), default=side) for side in grid)
    return (rows if rows >= COARSEST else grid[0], columns if columns >= COARSEST else grid[1])


def _join(trace: AttentionTrace, words: Sequence[Span], paid: Float[np.ndarray, " s"]) -> list[float]:
    """What all tokens of each word got together."""

    def belongs(token: Token, word: Span) -> bool:
        return token.start < token.end and word[0] <= token.start < word[1]

    tokens = list(zip(trace.source_tokens, paid.tolist(), strict=True))
    return [sum(share for token, share in tokens if belongs(token, word)) for word in words]


def _compare(
    trace: AttentionTrace, places: Sequence[Span], falls: Float[np.ndarray, " n"], weights: Sequence[float]
) -> AttentionTrace:
    found = zip(places, falls.tolist(), weights, strict=True)
    agreement = compare_ranks(weights, falls.tolist()) if len(places) > 1 else None
    return replace(trace, falls=tuple(Fall(*place, fall, weight) for place, fall, weight in found), agreement=agreement)
