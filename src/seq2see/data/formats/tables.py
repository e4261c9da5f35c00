"""Tables: columns between tabs (TSV) or commas, semicolons and bars (CSV), with or without a header."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.core.unicode import escape_controls
from seq2see.data.formats.anki import Table, drop_attributions, find_separator, read_settings, take_notes
from seq2see.data.formats.cells import DELIMITERS, split_csv, split_quoted, split_tsv
from seq2see.data.formats.headers import (
    IMAGE_NAMES,
    MAX_SHOWN_NAME,
    find_image_fields,
    find_text_columns,
    list_names,
    names_images,
    note_fields,
    resembles_header,
    tell_labels,
)
from seq2see.data.formats.lines import ReadReport, read_lines
from seq2see.data.pairs import Origin, Row


def read_txt(origin: Origin, reading: ReadReport) -> Iterator[Row]:
    """Read columns between tabs, or between commas below a header of images and captions, as in Kaggle's files.

    Args:
        origin: the file, and its two columns, if they are named.
        reading: collects what is odd, and is told whether sources are images and targets are labels.
    """
    first = next((line for line in read_lines(origin.file, ReadReport(origin.encoding)) if line.strip()), "")
    return (read_csv if names_images(first.split(",")) else read_tsv)(origin, reading)


def read_tsv(origin: Origin, reading: ReadReport) -> Iterator[Row]:
    """Read columns between tabs.

    Args:
        origin: the file, and its two columns, if they are named.
        reading: collects what is odd, and is told whether sources are images and targets are labels.
    """
    lines = read_lines(origin.file, reading)
    if read_settings(lines):
        return _read_notes(lines, origin, reading)
    return _read_columns(split_tsv(lines, origin.file, reading), origin, reading, "\t")


def read_csv(origin: Origin, reading: ReadReport) -> Iterator[Row]:
    """Read columns between the delimiter that fits the file, or that its first line names as Excel does.

    Args:
        origin: the file, and its two columns, if they are named.
        reading: collects what is odd, and is told whether sources are images and targets are labels.

    Raises:
        DataError: quotes do not close, or a row has another number of columns.
    """
    lines = read_lines(origin.file, reading)
    if read_settings(lines):
        return _read_notes(lines, origin, reading)
    table, delimiter = split_csv(lines, origin.file, reading)
    return _read_columns(table, origin, reading, delimiter)


def _read_notes(lines: Sequence[str], origin: Origin, reading: ReadReport) -> Iterator[Row]:
    """Read the notes of Anki; the only two columns need no usual names."""
    settings = read_settings(lines)
    delimiter = find_separator(settings)
    table = list(split_quoted(lines, delimiter, len(settings), origin.file))
    if all(name.isdecimal() for name in origin.fields or ("",)):  # numbers count all columns of the file
        settings = {name: value for name, value in settings.items() if "column" not in name}
    table = take_notes(table, settings, origin.file, reading)
    names = table[0][1] if table and "columns" in settings else []
    if len(names) == 2 and origin.fields is None:
        note_fields((names[0], names[1]), origin.file, table[0][0], reading)
        table = table[1:]
    return _read_columns(table, origin, reading, delimiter)


def _read_columns(table: Table, origin: Origin, reading: ReadReport, delimiter: str) -> Iterator[Row]:
    """Take source and target of each row, by given columns, by a header, or the only two."""
    blank = [number for number, row in table if not any(cell.strip() for cell in row)]
    reading.note("a blank line", "it is skipped", origin.file, blank)
    table = [(number, row) for number, row in table if any(cell.strip() for cell in row)]
    numbered = _find_numbered(table, origin) if table else None
    named = _find_columns(table, origin, reading) if table and numbered is None else None
    if numbered is None and named is None:
        table = drop_attributions(table, origin.file, reading)
        _require_two_columns(table, origin.file, delimiter)
    left, right = numbered or named or (0, 1)
    header = table[0][1] if numbered or named else ["", ""]
    for number, row in table[1:] if named else table:
        while len(row) > len(header) and not row[-1].strip():
            row = row[:-1]  # spreadsheets leave empty cells behind
        if not max(left, right) < len(row) <= len(header):
            raise DataError(_complain(len(header), row, delimiter), file=origin.file, line=number)
        yield number, row[left], row[right]


def _require_two_columns(table: Table, file: Path, delimiter: str) -> None:
    """Ask which columns are meant if every row has more than two."""
    if table and all(sum(bool(cell.strip()) for cell in row) > 2 for _, row in table):
        number, row = table[0]
        quotes = "" if delimiter == "\t" else f"; a text that holds {DELIMITERS.get(delimiter, delimiter)} needs quotes"
        raise DataError(
            f"it must be clear which of {len(row)} columns hold source and target; got {list_names(row)}; name them "
            f"with --fields SOURCE,TARGET, such as --fields 1,2, or by the names that a header gives them{quotes}.",
            file=file,
            line=number,
        )


def _find_numbered(table: Table, origin: Origin) -> tuple[int, int] | None:
    """Return the two columns if the user gives them as numbers, counted from 1, for a table without a header."""
    number, row = table[0]
    if origin.fields is None or not all(name.isdecimal() for name in origin.fields) or set(origin.fields) <= set(row):
        return None
    left, right = (int(name) for name in origin.fields)
    if not (1 <= left <= len(row) and 1 <= right <= len(row)):
        raise DataError(
            f"columns are counted from 1, and here are {len(row)}; got {left} and {right}; fix --fields.",
            file=origin.file,
            line=number,
        )
    return left - 1, right - 1


def _find_columns(table: Table, origin: Origin, reading: ReadReport) -> tuple[int, int] | None:
    """Return the two columns if the first row is a header that names them."""
    number, row = table[0]
    header = [cell.strip() for cell in row]
    while header and not header[-1]:
        header = header[:-1]
    if origin.fields is not None:
        left, right = (find_column(name, header, origin.file, number) for name in origin.fields)
        reading.images = origin.fields[0].lower() in IMAGE_NAMES
        reading.labels = tell_labels(origin.fields[1], reading)
        return left, right
    below = dict(zip(header, table[1][1], strict=False)) if len(table) > 1 else {}
    fields = find_image_fields(below, reading)
    found = (
        find_text_columns(header, [row for _, row in table[1:]])
        if fields is None
        else (header.index(fields[0]), header.index(fields[1]))
    )
    if found is not None:
        note_fields((header[found[0]], header[found[1]]), origin.file, number, reading)
        reading.labels = tell_labels(header[found[1]], reading)
    elif resembles_header(header, [row for _, row in table[1:]]):
        message = f"this looks like a header ({list_names(header)}), and is read as a pair"
        names = ",".join(escape_controls(name, most=MAX_SHOWN_NAME) for name in header)
        remedy = f"if it is one, leave it out with --fields {names}"
        reading.note(message, remedy, origin.file, [number], level="note")
    return found


def find_column(name: str, header: list[str], file: Path, number: int) -> int:
    """Return the place of the one column that has a name, counted from 0.

    Args:
        name: the name.
        header: the names of all columns.
        file: the file, for the error.
        number: the line of the header.

    Raises:
        DataError: no column has the name, or several have.
    """
    if header.count(name) != 1:
        raise DataError(
            f"the header must name one column {shorten(name)}; got {list_names(header)}; fix --fields.",
            file=file,
            line=number,
        )
    return header.index(name)


def _complain(width: int, row: list[str], delimiter: str) -> str:
    between, got = DELIMITERS.get(delimiter, repr(delimiter)), len(row)
    remedy = f"write {between} between source and target" if got < width == 2 else "fix the line"
    if got > width and delimiter != "\t":
        remedy = f"put a text that holds {between} in quotes"
    if got > width == 2:
        remedy += (
            f", or choose two of the columns ({list_names(row)}) with --fields SOURCE,TARGET: the names that a "
            "header gives them, or without one their numbers"
        )
    count = "two" if width == 2 else width
    return f"every line needs {count} columns with {between} between them; got {got}; {remedy}."
