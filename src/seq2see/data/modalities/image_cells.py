"""The cells of a grid over an image: their names as positions, and their places as regions."""

from seq2see.core.box import Box
from seq2see.core.token import Token
from seq2see.data.modalities.modality import Grid

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
