"""A comparison of runs in the terminal: its tables, notes and facts."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seq2see.metrics.length import LengthScores
from seq2see.render.figures.length_curve import NAMES
from seq2see.render.html.comparison_page import Sheet
from seq2see.system.console import print_table


def print_comparison(sheet: Sheet, console: Console, *, metric: str | None = None) -> None:
    """Print the tables and notes of a comparison.

    Args:
        sheet: the comparison.
        console: where to print.
        metric: the metric to list by source length; None, or one without scores, lists BLEU, or
            exact match if there is no BLEU.
    """
    print_table(console, _make_table(sheet))
    if sheet.lengths is not None:
        print_table(console, _make_length_table(sheet.runs, sheet.lengths, sheet.lengths.choose_metric(metric)))
    for note in sheet.notes:
        console.print(f"note: {note}", soft_wrap=True)
    for name, fact in sheet.facts.items():
        console.print(f"{name}: {fact}", style="dim", soft_wrap=True)


def _make_table(sheet: Sheet) -> Table:
    """Return the main table, with a column for each run."""
    table = Table("", *sheet.runs, title=Text(sheet.title), title_justify="left")
    for row in sheet.rows:
        name = Text.assemble(row.name, (f", {row.about}" if row.about else "", "dim"))
        table.add_row(name, *(Text.assemble(cell.text, (f" {cell.note}", "dim")) for cell in row.cells))
    return table


def _make_length_table(runs: Sequence[str], lengths: LengthScores, metric: str) -> Table:
    """Return one metric by the length of the source, with a column for each run."""
    title = f"{NAMES[metric]} by source length"
    table = Table(lengths.buckets.unit, lengths.counted, *runs, title=title, title_justify="left")
    for place, bucket in enumerate(lengths.buckets.buckets):
        values = (f"{scores[place]:.2f}" for scores in lengths.scores[metric].values())
        table.add_row(bucket.label, f"{len(bucket.rows):,}" + (" (few)" if bucket.few else ""), *values)
    return table
