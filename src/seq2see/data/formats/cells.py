"""Rows of cells: lines divided at tabs (TSV), or at commas, semicolons and bars outside quotes (CSV)."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.anki import Table
from seq2see.data.formats.lines import ReadReport

MAX_DELIMITER_ROWS = 100  # by which the delimiter is found
QUOTED = re.compile(r'"(?:[^"]|"")*"')
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


def split_tsv(lines: Sequence[str], file: Path, reading: ReadReport) -> Table:
    """Divide lines at tabs, without the quotes of a spreadsheet, which doubles those inside; others are of the text.

    Args:
        lines: the lines of a file.
        file: the file, for findings.
        reading: collects what is odd.
    """
    table = [(number, line.split("\t")) for number, line in enumerate(lines, 1)]
    quoted = [(number, cell) for number, row in table for cell in row if cell.startswith('"')]
    if not all(QUOTED.fullmatch(cell) for _, cell in quoted) or not any('""' in cell[1:-1] for _, cell in quoted):
        return table
    marked = list(dict.fromkeys(number for number, _ in quoted))
    reading.note("cells in quotes, as spreadsheets write them", "the quotes are taken off", file, marked)
    return [(number, [unquote(cell) for cell in row]) for number, row in table]


def unquote(cell: str) -> str:
    """Return a cell without the quotes of a spreadsheet, which doubles those inside.

    Args:
        cell: the cell, in quotes or not.
    """
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def split_csv(lines: Sequence[str], file: Path, reading: ReadReport) -> tuple[Table, str]:
    """Divide lines at the delimiter that fits them, or that the first one names, and return it too.

    Args:
        lines: the lines of a file.
        file: the file, for errors and findings.
        reading: collects what is odd.

    Raises:
        DataError: quotes do not close.
    """
    delimiter, skipped = find_delimiter(lines, file, reading)
    return list(split_quoted(lines, delimiter, skipped, file)), delimiter


def find_delimiter(lines: Sequence[str], file: Path, reading: ReadReport) -> tuple[str, int]:
    """Return what is between the columns, and how many lines come before the table.

    Args:
        lines: the first lines of a file, or all of them.
        file: the file, for findings.
        reading: collects what is odd.
    """
    told = re.fullmatch("sep=([,;|\t])", lines[0])  # as Excel writes it
    return (told[1], 1) if told else (_guess_delimiter(lines, file, reading), 0)


def split_quoted(lines: Iterable[str], delimiter: str, skipped: int, file: Path) -> Iterator[tuple[int, list[str]]]:
    """Divide lines at a delimiter that is not in quotes.

    Args:
        lines: the lines of a file, one after the other.
        delimiter: what is between the columns.
        skipped: how many of the first lines are left out.
        file: the file, for errors.

    Yields:
        The line where a row begins, counted from 1, and its cells; quotes may hold line ends.

    Raises:
        DataError: quotes do not close.
    """
    csv.field_size_limit(2**31 - 1)  # a long text is no mistake
    ended = (f"{line}\n" for line in islice(lines, skipped, None))
    reader = csv.reader(ended, delimiter=delimiter, strict=True)
    start = 1 + skipped
    try:
        for row in reader:
            yield start, row
            start = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise DataError(f"this is not CSV: {error}; check the quotes.", file=file, line=start) from None


def _guess_delimiter(lines: Sequence[str], file: Path, reading: ReadReport) -> str:
    """Find what is between the columns; spreadsheets write semicolons in half of the world.

    It is what gives all of the first rows as many columns; if nothing does, what gives the first row several.
    """
    counts = {delimiter: count_columns(lines, delimiter) for delimiter in DELIMITERS}
    several = [delimiter for delimiter, found in counts.items() if found and found[0] > 1]
    even = [delimiter for delimiter in several if len(set(counts[delimiter])) == 1]
    if len(even) > 1:
        message = f"columns are split at {DELIMITERS[even[0]]}, and {DELIMITERS[even[1]]} would fit as well"
        reading.note(message, f"if it is the latter, put sep={even[1]} into a line of its own above", file, [1])
    return (*even, *several, ",")[0]


def count_columns(lines: Sequence[str], delimiter: str) -> list[int]:
    """Count the columns of the first rows, as far as they can be read with this delimiter.

    Args:
        lines: the lines of a file.
        delimiter: what may be between the columns.
    """
    counts: list[int] = []
    with suppress(csv.Error):  # a quote that ends elsewhere, with another delimiter
        for row in islice(csv.reader(lines, delimiter=delimiter, strict=True), MAX_DELIMITER_ROWS):
            counts += [len(row)] if any(cell.strip() for cell in row) else []
    return counts
