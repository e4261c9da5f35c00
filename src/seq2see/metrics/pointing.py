"""The pointing game: whether attention is on a thing when the output names it.

Zhang et al. 2016 (arXiv:1608.00507), section 4.1. A cell of the image's grid hits a thing if its centre is in the
thing's box grown by half a cell on every side, borders included: if the cell touches the box. A word points to the cell
of its largest weight; of several such cells each counts for its share, so that uniform weights score as chance does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from seq2see.core.box import Box, NamedBox
from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.metrics.text import Metric

Grid = tuple[int, int]  # rows and columns of cells

BORDER_TOLERANCE = 1e-9  # against rounding, in image sides


@dataclass(frozen=True)
class Mention:
    """Is a word of an output that names a thing.

    Args:
        word: the word as it is written.
        span: its start and end in the output, in characters.
        thing: the thing that it names.
    """

    word: str
    span: Span
    thing: NamedBox


@dataclass(frozen=True)
class Pointing:
    """Holds whether one word's attention hits its thing, and the same for two baselines that know no image.

    Args:
        word: the word as it is written.
        hit: 1 if the cell of the largest weight hits, else 0; a share if several cells have the largest weight.
        chance: the share of all cells that hit.
        centre: 1 if the middle cell of the image hits, else 0; a share if there are two or four middle cells.
    """

    word: str
    hit: float
    chance: float
    centre: float


def find_mentions(text: str, things: Sequence[NamedBox]) -> list[Mention]:
    """Find the words of a text that name things: all words of a thing in a row, each of which counts.

    Args:
        text: the output.
        things: the things of its image; lower and upper case count the same.

    Returns:
        One mention for each word, in the order of the text.
    """
    found: dict[Span, NamedBox] = {}
    for thing in things:
        for match in re.finditer(r"\W+".join(rf"\b({re.escape(word)})\b" for word in thing.words), text, re.IGNORECASE):
            found |= {match.span(group): thing for group in range(1, len(thing.words) + 1)}
    return [Mention(text[slice(*span)], span, found[span]) for span in sorted(found)]


def point(
    weights: Float[np.ndarray, "t s"], *, grid: Grid, tokens: Sequence[Token], mentions: Sequence[Mention]
) -> list[Pointing]:
    """Return whether the attention of each mention hits its thing.

    Args:
        weights: attention of each output token (t) to each cell (s), cells row by row, [t s].
        grid: the number of rows and of columns of cells.
        tokens: the tokens of the output; a word of several tokens has the mean of their weights.
        mentions: the words that name things; one that no token has a part of is left out.

    Raises:
        DataError: if the weights are not those of these tokens and cells.
    """
    rows, columns = grid
    if weights.shape != (len(tokens), rows * columns):
        raise DataError(
            f"weights must be {len(tokens)} tokens by {rows} x {columns} cells; got {weights.shape}; "
            "give the weights of this very output over the cells of the image."
        )
    found = []
    for mention in mentions:
        start, end = mention.span
        parts = [row for row, token in enumerate(tokens) if token.start < end and token.end > start]
        if parts:
            found.append(_point(mention.word, weights[parts].mean(axis=0), grid, mention.thing.box))
    return found


def score_pointing(pointings: Sequence[Pointing], *, grid: Grid) -> list[Metric]:
    """Return the share of words that hit, and the same for a random cell and for the centre of the image, out of 100.

    Args:
        pointings: those of all words of all outputs, at least one.
        grid: the number of rows and of columns of cells, for the signature.
    """
    if not pointings:
        raise DataError("the pointing game needs at least one word that names a thing; got none.")
    about = (
        f"n:{len(pointings)}|grid:{grid[0]}x{grid[1]}|rule:centre-in-box-grown-by-half-a-cell|peak:largest,ties-shared"
    )
    shares = {
        "pointing": [each.hit for each in pointings],
        "pointing_chance": [each.chance for each in pointings],
        "pointing_centre": [each.centre for each in pointings],
    }
    return [Metric(name, 100 * sum(values) / len(values), f"{name}|{about}") for name, values in shares.items()]


def find_hits(box: Box, grid: Grid) -> Bool[np.ndarray, " s"]:
    """Return which cells hit a box, row by row, [s].

    Args:
        box: where the thing is.
        grid: the number of rows and of columns of cells.
    """
    down = _reach(box.top, box.bottom, grid[0])
    across = _reach(box.left, box.right, grid[1])
    return np.asarray(np.outer(down, across).ravel())


def _reach(low: float, high: float, cells: int) -> Bool[np.ndarray, " _"]:
    centres = (np.arange(cells) + 0.5) / cells
    half = 0.5 / cells + BORDER_TOLERANCE
    return np.asarray((centres >= low - half) & (centres <= high + half))


def _point(word: str, weights: Float[np.ndarray, " s"], grid: Grid, box: Box) -> Pointing:
    hits = find_hits(box, grid)
    peaks = weights >= weights.max() * (1 - 1e-6)
    return Pointing(word, float(hits[peaks].mean()), float(hits.mean()), float(hits[_find_middle(grid)].mean()))


def _find_middle(grid: Grid) -> Bool[np.ndarray, " s"]:
    """Return the cells nearest to the middle: one, two or four of them."""
    down, across = (abs((np.arange(cells) + 0.5) / cells - 0.5) for cells in grid)
    return np.asarray(
        np.outer(down <= down.min() + BORDER_TOLERANCE, across <= across.min() + BORDER_TOLERANCE).ravel()
    )
