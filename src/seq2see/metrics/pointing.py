"""The pointing game: whether attention looks at a thing while the output names it (Zhang et al. 2016, section 4.1).

A cell of the picture's grid hits a thing when its centre lies in the thing's box grown by half a cell on every side,
borders included; that is when the cell touches the box. A word looks where its weights are largest; several cells with
the same largest weight count each for its share, so that even weights score exactly what blind guessing does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from seq2see.core.box import Box, Thing
from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.core.word import Span
from seq2see.metrics.text import Metric

Grid = tuple[int, int]  # rows and columns of cells

SLACK = 1e-9  # so that a border that is met exactly is not missed by rounding


@dataclass(frozen=True)
class Mention:
    """A word of an output that names a thing."""

    word: str
    span: Span
    thing: Thing


@dataclass(frozen=True)
class Look:
    """Where the model looked for one word: whether it hit, beside what two blind players would have."""

    word: str
    hit: float  # 1 or 0, or a share if several cells have the largest weight
    chance: float  # the share of all cells that hit
    centre: float  # whether the middle of the picture hits


def find_mentions(text: str, things: Sequence[Thing]) -> list[Mention]:
    """The words of a text that name things: where all words of a thing stand in a row, each of them does."""
    found: dict[Span, Thing] = {}
    for thing in things:
        for match in re.finditer(r"\W+".join(rf"\b({re.escape(word)})\b" for word in thing.words), text, re.IGNORECASE):
            found |= {match.span(group): thing for group in range(1, len(thing.words) + 1)}
    return [Mention(text[slice(*span)], span, found[span]) for span in sorted(found)]


def point(
    weights: Float[np.ndarray, "t s"], *, grid: Grid, tokens: Sequence[Token], mentions: Sequence[Mention]
) -> list[Look]:
    """Whether each mention looked at its thing; a word of several tokens looks with the mean of their weights."""
    rows, columns = grid
    if weights.shape != (len(tokens), rows * columns):
        raise DataError(
            f"weights must be {len(tokens)} tokens by {rows} x {columns} cells; got {weights.shape}; "
            "give the weights of this very output over the cells of the picture."
        )
    looks = []
    for mention in mentions:
        start, end = mention.span
        parts = [row for row, token in enumerate(tokens) if token.start < end and token.end > start]
        if parts:
            looks.append(_look(mention.word, weights[parts].mean(axis=0), grid, mention.thing.box))
    return looks


def score_pointing(looks: Sequence[Look], *, grid: Grid) -> list[Metric]:
    """The share of words that hit, and what guessing any cell and always guessing the centre would give."""
    if not looks:
        raise DataError("the pointing game needs at least one word that names a thing; got none.")
    about = f"n:{len(looks)}|grid:{grid[0]}x{grid[1]}|rule:centre-in-box-grown-by-half-a-cell|peak:largest,ties-shared"
    shares = {
        "pointing": [look.hit for look in looks],
        "pointing_chance": [look.chance for look in looks],
        "pointing_centre": [look.centre for look in looks],
    }
    return [Metric(name, 100 * sum(values) / len(values), f"{name}|{about}") for name, values in shares.items()]


def find_hits(box: Box, grid: Grid) -> Bool[np.ndarray, " s"]:
    """Which cells hit a box, row by row."""
    down = _reach(box.top, box.bottom, grid[0])
    across = _reach(box.left, box.right, grid[1])
    return np.asarray(np.outer(down, across).ravel())


def _reach(low: float, high: float, cells: int) -> Bool[np.ndarray, " _"]:
    centres = (np.arange(cells) + 0.5) / cells
    half = 0.5 / cells + SLACK
    return np.asarray((centres >= low - half) & (centres <= high + half))


def _look(word: str, weights: Float[np.ndarray, " s"], grid: Grid, box: Box) -> Look:
    hits = find_hits(box, grid)
    peaks = weights >= weights.max() * (1 - 1e-6)
    return Look(word, float(hits[peaks].mean()), float(hits.mean()), float(hits[_find_middle(grid)].mean()))


def _find_middle(grid: Grid) -> Bool[np.ndarray, " s"]:
    """The cells nearest to the middle: one, two or four of them."""
    down, across = (abs((np.arange(cells) + 0.5) / cells - 0.5) for cells in grid)
    return np.asarray(np.outer(down <= down.min() + SLACK, across <= across.min() + SLACK).ravel())
