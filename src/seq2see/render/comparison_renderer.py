"""What draws a comparison of runs: as text, and as a page."""

import io
from pathlib import Path

from rich.console import Console

from seq2see.core.errors import Seq2SeeError
from seq2see.render.comparison_table import make_sheet
from seq2see.render.html.comparison_page import render_comparison
from seq2see.render.html.page import save_page
from seq2see.render.terminal.terminal_comparison import print_comparison
from seq2see.runs.comparison import Comparison

COLUMNS = 120  # of a table as text


class TableRenderer:
    """Draws comparisons as tables in a text or on a page."""

    def to_text(self, comparison: Comparison) -> str:
        """Return the tables, notes and facts of a comparison as text.

        Args:
            comparison: the comparison to show.
        """
        text = io.StringIO()
        console = Console(file=text, width=COLUMNS, highlight=False, markup=False, emoji=False)
        print_comparison(make_sheet(comparison, examples=0), console)
        return text.getvalue()

    def save(self, comparison: Comparison, path: Path, *, examples: int) -> Path:
        """Write a comparison as a page, and return its path.

        Args:
            comparison: the comparison to write.
            path: the file, which must end in .html.
            examples: the sources whose attention is shown.
        """
        if path.suffix.lower() != ".html":
            raise Seq2SeeError(f"the name of the page must end in .html; got {path}.")
        return save_page(render_comparison(make_sheet(comparison, examples=examples)), path)
