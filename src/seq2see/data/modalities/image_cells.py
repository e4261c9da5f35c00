"""The cells of a grid over an image: their names as positions, and the regions of them that are occluded."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from seq2see.core.box import Box
from seq2see.core.token import Token
from seq2see.data.modalities.modality import Grid

MAX_REGIONS, MIN_REGIONS = 8, 4  # regions a side that an image is cut into, if its cells can be put together so
MIN_REGION_PIXELS = 8  # a side
# what an occluder covers beside its region, as a share of the image's side: a model reads a region together with its
# surroundings, and what a small occluder changes is less than the noise of the probabilities
OCCLUSION_MARGIN = 1 / 8

CELL = "row\N{NARROW NO-BREAK SPACE}{},\N{NARROW NO-BREAK SPACE}column\N{NARROW NO-BREAK SPACE}{}"


def name_cells(grid: Grid) -> tuple[Token, ...]:
    """Return the cells of a grid as tokens, row by row; they are named by row and column, counted from 1.

    Args:
        grid: the rows and columns of cells.
    """
    rows, columns = grid
    return tuple(Token(CELL.format(y, x), 0, 0) for y in range(1, rows + 1) for x in range(1, columns + 1))


def list_cells(grid: Grid) -> list[Box]:
    """Return the cells of a grid as regions, row by row.

    Args:
        grid: the rows and columns of cells.
    """
    rows, columns = grid
    return [Box(x / columns, y / rows, (x + 1) / columns, (y + 1) / rows) for y in range(rows) for x in range(columns)]


def choose_regions(grid: Grid | None, size: int | None = None) -> Grid:
    """Choose the rows and columns of regions to occlude: the cells themselves, or blocks of them where there are many.

    Args:
        grid: the cells that the encoder has; None if its memory has no cells.
        size: pixels a side of what the encoder reads, so that regions are not too small; None if that is not known.
    """
    most = MAX_REGIONS if size is None else min(max(size // MIN_REGION_PIXELS, MIN_REGIONS), MAX_REGIONS)
    if grid is None:
        return most, most
    rows, columns = (max((n for n in range(1, most + 1) if side % n == 0), default=side) for side in grid)
    return (rows if rows >= MIN_REGIONS else grid[0], columns if columns >= MIN_REGIONS else grid[1])


def list_occluders(regions: Grid) -> list[Box]:
    """Return what is covered to occlude each region of an image, row by row: the region and a margin around it.

    Args:
        regions: the rows and columns of regions.
    """
    return [cell.widen(OCCLUSION_MARGIN) for cell in list_cells(regions)]


def find_cells(boxes: Sequence[Box], grid: Grid) -> Bool[np.ndarray, "n s"]:
    """Return which cells of a grid have their centre in each box, `[n s]` for n boxes and s cells, row by row.

    Args:
        boxes: regions of the image.
        grid: the rows and columns of cells.
    """
    centres = [((cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2) for cell in list_cells(grid)]
    inside = [[box.left < x < box.right and box.top < y < box.bottom for x, y in centres] for box in boxes]
    return np.asarray(inside, dtype=bool).reshape(len(boxes), len(centres))
