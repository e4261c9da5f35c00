"""A console for people at a terminal, and for logs: a file or a pipe gets one line an event, however long it is."""

import io
from collections.abc import Iterator
from typing import IO, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from seq2see.core.unicode import escape_controls
from seq2see.system.standard_error import LossyStandardError

MAX_COLUMNS = 100_000  # of a table without a terminal: as many as it needs


class SafeConsole(Console):
    """A console on which no text of data or of a model moves the cursor or turns the direction of what follows."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield what is printed, with control characters as escapes.

        Args:
            renderable: what is printed.
            options: where it is printed; None for this console.
        """
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else escape_controls(segment.text, kept="\n\t")
            yield segment if text == segment.text else Segment(text, segment.style)


def make_console(file: TextIO | io.TextIOBase | None = None, *, quiet: bool = False) -> Console:
    """Return a console that breaks lines at the width of a terminal, and nowhere if there is no terminal.

    Args:
        file: where to print; None for standard error, where what cannot be written is dropped.
        quiet: whether it prints nothing.
    """
    stream = LossyStandardError() if file is None else file
    console = SafeConsole(file=cast(IO[str], stream), highlight=False, markup=False, emoji=False, quiet=quiet)
    console.soft_wrap = not console.is_terminal
    return console


def print_table(console: Console, table: Table) -> None:
    """Print a table; where lines are not broken, as columns with spaces between them and a line for each row.

    Args:
        console: where to print it.
        table: the table; without a terminal it loses its frame, and its title stands above it.
    """
    if not console.soft_wrap:
        console.print(table)
        return
    if table.title is not None:
        console.print(table.title)
    table.box, table.title, table.pad_edge = None, None, False
    wide = Console(file=io.StringIO(), width=MAX_COLUMNS, color_system=None, markup=False, emoji=False)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip())
