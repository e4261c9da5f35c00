"""A whole table with all its columns: read for one of them, and written again with further columns."""

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.data.formats.cells import split_csv, split_tsv
from seq2see.data.formats.file_bytes import packing
from seq2see.data.formats.headers import IMAGE_NAMES, SOURCE_NAMES, list_names
from seq2see.data.formats.jsonl import flatten, parse_array, parse_lines
from seq2see.data.formats.lines import ReadReport
from seq2see.data.formats.parquet import ArrowTable, add_columns, read_arrow, to_json_value, write_tables
from seq2see.data.formats.table_kind import Kind, find_kind, guess_kind
from seq2see.data.formats.tables import find_column
from seq2see.data.sentence_splitter import join_sentences

MISSING = object()  # the value of a field that an object does not have
HALF_CHARACTER = re.compile("[\ud800-\udfff\0]")


@dataclass(frozen=True)
class DataTable:
    """A table, row by row.

    Args:
        names: the names of the columns; of a table without a header `column_1` and so on.
        rows: the cells of each row, as many as there are names; MISSING where an object has no such field.
        kind: the format that it was read from.
        header: whether the file names its columns.
        delimiter: what is between the columns of CSV.
        lines: the line of each row, counted from 1; for formats without lines its number.
        before: the table of pyarrow that rows were read from, which knows the types of columns; None for other formats.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    kind: Kind
    header: bool = True
    delimiter: str = ","
    lines: Sequence[int] = ()
    before: ArrowTable | None = None

    def add(self, columns: Mapping[str, Sequence[object]]) -> "DataTable":
        """Return the table with further columns, which are renamed where the table has their names already.

        Args:
            columns: the values of each row by the name of the column.
        """
        names = list(self.names)
        for name in columns:
            names.append(find_free_name(name, names))
        extra = list(zip(*columns.values(), strict=True)) or [()] * len(self.rows)
        rows = [(*row, *more) for row, more in zip(self.rows, extra, strict=True)]
        return replace(self, names=tuple(names), rows=rows)


def find_free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name for a new column: itself, or with `_2`, `_3` and so on if it is taken in whatever case.

    Args:
        name: the name.
        taken: the names of the columns that are there.
    """
    used = {each.strip().casefold() for each in taken}
    number, free = 2, name
    while free.casefold() in used:
        number, free = number + 1, f"{name}_{number}"
    return free


def read_table(file: Path, lines: Sequence[str], field: str, reading: ReadReport) -> DataTable:
    """Read a whole table.

    Args:
        file: its file, by whose ending the format is known.
        lines: its lines; empty for Parquet, which is read from the file.
        field: the column that is asked for: a number, counted from 1, says that a table of cells has no header.
        reading: collects what is odd.

    Raises:
        DataError: the file is no such table, or has no rows.
    """
    kind = find_kind(file.name) or guess_kind(lines)
    if kind in ("csv", "tsv"):
        cells, delimiter = split_csv(lines, file, reading) if kind == "csv" else (split_tsv(lines, file, reading), "\t")
        return _take_rows([(number, row) for number, row in cells if row and row != [""]], kind, field, file, delimiter)
    before = read_arrow(file) if kind == "parquet" else None
    if before is not None:
        objects = list(enumerate(before.to_pylist(), 1))
    else:
        found = parse_lines(lines, file) if kind == "jsonl" else parse_array("\n".join(lines), file)
        objects = [(number, {**record}) for number, record in found]
    if not objects:
        raise DataError("the table has no rows; give one that has some.", file=file)
    names = tuple(dict.fromkeys(name for _, record in objects for name in record))
    rows = [[record.get(name, MISSING) for name in names] for _, record in objects]
    return DataTable(names, rows, kind, lines=[number for number, _ in objects], before=before)


def _take_rows(cells: Sequence[tuple[int, list[str]]], kind: Kind, field: str, file: Path, delimiter: str) -> DataTable:
    """Return rows of cells as a table, each as wide as the first; spreadsheets leave empty cells behind, or none."""
    if not cells:
        raise DataError("the table has no rows; give one that has some.", file=file)
    outline = outline_cells(cells[0][1], max(count_full(row) for _, row in cells), kind, field, delimiter)
    body = cells[1:] if outline.header else cells
    rows = [fit_row(row, len(outline.names), file, number) for number, row in body]
    return replace(outline, rows=rows, lines=[number for number, _ in body])


def count_full(row: Sequence[str]) -> int:
    """Return how many cells a row has without the blank ones at its end.

    Args:
        row: the cells.
    """
    return next((place for place in range(len(row), 0, -1) if row[place - 1].strip()), 0)


def outline_cells(first: Sequence[str], most: int, kind: Kind, field: str, delimiter: str) -> DataTable:
    """Return a table of cells without its rows; columns at its end that are blank in every row do not count.

    Args:
        first: the first row, which is the header unless the field is a number.
        most: the most cells of any row, without the blank ones at its end.
        kind: the format of the table.
        field: the column that is asked for, by name or number.
        delimiter: what is between the columns.
    """
    names = [cell.strip() for cell in first]
    while len(names) > max(1, most):
        names = names[:-1]
    header = not field.isdecimal() or field in names
    numbered = tuple(f"column_{number}" for number in range(1, len(names) + 1))
    return DataTable(tuple(names) if header else numbered, [], kind, header, delimiter)


def fit_row(row: Sequence[str], width: int, file: Path, number: int) -> list[str]:
    """Return a row with as many cells as the table has columns.

    Args:
        row: its cells; spreadsheets leave blank ones behind, or none.
        width: the number of columns.
        file: the file, for the error.
        number: the line, for the error.

    Raises:
        DataError: the row has more cells that are not blank.
    """
    if count_full(row) > width:
        raise DataError(
            f"every line needs at most {width} columns, as the first one has; got {len(row)}; fix the line.",
            file=file,
            line=number,
        )
    return [*row[:width], *[""] * (width - len(row))]


def take_texts(table: DataTable, field: str, file: Path, *, known: bool = False) -> list[str]:
    """Return the texts of a column: numbers as they are written, sentences joined, and blank where there is nothing.

    Args:
        table: the table.
        field: the name of the column, its number from 1 if there is no header, or the path of a field (outer.inner).
        file: its file, for errors.
        known: whether the field is known to be in other rows of the file, if these have none.

    Raises:
        DataError: there is no such column, or it holds something else than texts.
    """
    if not table.header:
        place = int(field) - 1
        if not 0 <= place < len(table.names):
            raise DataError(f"columns are counted from 1, and here are {len(table.names)}; got {field}.", file=file)
        values = [row[place] for row in table.rows]
    elif field in table.names:
        place = find_column(field, list(table.names), file, 1)
        values = [row[place] for row in table.rows]
    else:
        records = [
            dict(flatten(_make_record(table.names, row)))
            for row in (table.rows if table.kind not in ("csv", "tsv") else ())
        ]
        if not known and not any(field in record for record in records):
            raise DataError(
                f"there must be a column {shorten(field)}; got {list_names(table.names)}; fix --fields.", file=file
            )
        values = [record.get(field) for record in records]
    return [_to_text(value, field, file, number) for value, number in zip(values, table.lines, strict=True)]


def _to_text(value: object, field: str, file: Path, number: int) -> str:
    """Return one cell as text."""
    if value is None or value is MISSING or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return HALF_CHARACTER.sub("\ufffd", join_sentences(value))
    if isinstance(value, list | dict | bytes):
        found = shorten(value, most=40)
        raise DataError(f"column {shorten(field)} must hold texts; row {number} has {found}; fix it.", file=file)
    return HALF_CHARACTER.sub("\ufffd", value) if isinstance(value, str) else str(to_json_value(value))


def write_table(table: DataTable, kind: Kind, file: Path) -> bytes:
    """Return the content of a file with a table.

    Args:
        table: the table.
        kind: the format to write; cells of TSV hold neither tabs nor line ends, so they become spaces.
        file: the file that will be written, for errors; one that ends in `.gz` is compressed.
    """
    buffer = io.BytesIO()
    with packing(buffer, file) as out:
        if kind == "parquet":
            write_tables([to_arrow(table, file)], out)
        elif kind in ("json", "jsonl"):
            out.write(_write_objects(table, kind).encode())
        else:
            out.write(_write_cells(table, kind).encode())
    return buffer.getvalue()


def to_arrow(table: DataTable, file: Path) -> ArrowTable:
    """Return a table as one of pyarrow; columns that were read from Parquet keep their types.

    Args:
        table: the table.
        file: the file that will be written, for errors.
    """
    new = range(0 if table.before is None else table.before.num_columns, len(table.names))
    columns = {table.names[place]: [_null(row[place]) for row in table.rows] for place in new}
    return add_columns(table.before, columns, file)


def _write_objects(table: DataTable, kind: Kind) -> str:
    rows = [_make_record(table.names, row) for row in table.rows]
    if kind == "json":
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _make_record(names: Sequence[str], row: Sequence[object]) -> dict[str, Any]:
    return {name: to_json_value(value) for name, value in zip(names, row, strict=True) if value is not MISSING}


def _write_cells(table: DataTable, kind: Kind) -> str:
    rows = [[_write_cell(value) for value in row] for row in table.rows]
    rows = [list(table.names), *rows] if table.header or table.kind != kind else rows
    if kind == "tsv":
        return "".join("\t".join(" ".join(re.split("[\t\r\n]", cell)) for cell in row) + "\n" for row in rows)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=table.delimiter if table.kind == kind else ",", lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _write_cell(value: object) -> str:
    if value is None or value is MISSING:
        return ""
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)


def _null(value: object) -> object:
    return None if value is MISSING else value


def propose_column(table: DataTable, trained: str | None) -> str | None:
    """Return the column that holds the sources, as `--fields` names it; None if nothing tells it.

    Args:
        table: a table whose first row was read as a header.
        trained: the column of the sources that a run was trained on; None if it is not known.
    """
    if trained is not None and trained in table.names:
        return trained
    known = {name.strip().lower(): name for name in table.names}
    named = [known[name] for name in (*IMAGE_NAMES, *SOURCE_NAMES) if name in known]
    if named:
        return named[0]
    texts = [place for place in range(len(table.names)) if _holds_texts([row[place] for row in table.rows])]
    if len(texts) != 1:
        return None
    others = [name for place, name in enumerate(table.names) if place not in texts]
    has_header = table.kind not in ("csv", "tsv") or not others or all(re.search(r"[^\W\d]", name) for name in others)
    return table.names[texts[0]] if has_header else str(texts[0] + 1)


def _holds_texts(values: Sequence[object]) -> bool:
    """Tell whether most values of a column are texts with letters."""
    texts = [value for value in values if isinstance(value, str) and re.search(r"[^\W\d_]", value)]
    full = [value for value in values if value is not None and value is not MISSING and value != ""]
    return 2 * len(texts) > len(full)
