"""The rows of a file of any size: texts, one a line, or a table, of which a chunk at a time is in memory."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from seq2see.core.errors import DataError
from seq2see.data.formats.cells import QUOTED, find_delimiter, split_quoted, unquote
from seq2see.data.formats.data_table import (
    MISSING,
    DataTable,
    count_full,
    fit_row,
    outline_cells,
    take_texts,
)
from seq2see.data.formats.encodings import check_encoding, guess_encoding
from seq2see.data.formats.file_bytes import open_bytes
from seq2see.data.formats.jsonl import flatten, parse_lines
from seq2see.data.formats.lines import ReadReport, clean_line, split_lines
from seq2see.data.formats.parquet_stream import ParquetStream
from seq2see.data.formats.table_kind import find_kind, guess_kind, resembles_table

HEAD_BYTES = 1 << 20  # by which the encoding, the format and the delimiter are found

NumberedRow = tuple[int, Sequence[object]]  # the line of a row, counted from 1, and its cells


@dataclass(frozen=True)
class RowStream:
    """Says what a file has, and reads its rows again whenever they are wanted.

    Args:
        file: the file.
        outline: its columns, without rows; of texts the column `source`.
        count: how many rows it has.
        field: the column that holds the sources; None for texts.
        cut: reads a range of rows in tables of at most so many rows.
    """

    file: Path
    outline: DataTable
    count: int
    field: str | None
    cut: Callable[[range, int], Iterator[DataTable]]

    def read(self, rows: range, size: int) -> Iterator[tuple[DataTable, list[str]]]:
        """Read some of the rows, chunk by chunk.

        Args:
            rows: which rows, counted from 0.
            size: how many rows a chunk has; the last one may have fewer.

        Yields:
            The rows as a table, and the source in each of them.
        """
        for table in self.cut(rows, size):
            if self.field is None:
                yield table, [str(row[0]) for row in table.rows]
            else:
                yield table, take_texts(table, self.field, self.file, known=True)


def open_rows(file: Path, *, field: str | None, lines: bool = False, encoding: str | None = None) -> RowStream:
    """Go once over a file, to count its rows and find its columns; only Parquet tells both in advance.

    Args:
        file: the file, which may be compressed with gzip.
        field: the column that holds the sources; None reads every line as one text.
        lines: whether lines that look like a table are read as texts too.
        encoding: the encoding; None finds it by the beginning of the file.

    Raises:
        DataError: the file has no rows, has no such column, is a table without `field`, or cannot be read in chunks.
    """
    if find_kind(file.name) == "parquet":
        return _open_parquet(file, field)
    text = _LinedText.open(file, encoding)
    if field is None:
        if not lines and resembles_table(file.name, text.head):
            raise DataError(
                "this is a table; name the column to predict with --fields COLUMN (a name of the header, or a number), "
                "or give --lines to read every whole line as one input.",
                file=file,
            )
        outline = DataTable(("source",), [], "csv")
        return _make_stream(file, outline, None, lambda: ((n, (line,)) for n, line in enumerate(text.read(), 1)))
    kind = find_kind(file.name) or guess_kind(text.head)
    if kind == "json":
        raise DataError("a JSON array is read as a whole only; write one object a line (.jsonl) for shards.", file=file)
    if kind == "jsonl":
        return _open_objects(file, field, text)
    return _open_cells(file, field, text, "csv" if kind == "csv" else "tsv")


@dataclass(frozen=True)
class _LinedText:
    """A file of lines in a known encoding."""

    file: Path
    encoding: str
    end: str
    head: list[str]

    @classmethod
    def open(cls, file: Path, encoding: str | None) -> "_LinedText":
        with open_bytes(file) as content:
            data = content.read(HEAD_BYTES)
        whole = data[: data.rfind(b"\n") + 1] if len(data) == HEAD_BYTES and b"\n" in data else data
        chosen = check_encoding(encoding) if encoding is not None else guess_encoding(whole, file)
        text = whole.decode(chosen, "ignore")
        return cls(file, chosen, "\r" if "\r" in text and "\n" not in text else "\n", split_lines(text))

    def read(self) -> Iterator[str]:
        with (
            open_bytes(self.file) as content,
            io.TextIOWrapper(cast(IO[bytes], content), self.encoding, newline=self.end) as text,
        ):
            try:
                for line in text:
                    yield clean_line(line.removesuffix(self.end))
            except UnicodeDecodeError:
                raise DataError(
                    f"text must be {self.encoding}, as the beginning of the file is; got other bytes; name its "
                    "encoding with --encoding, or save the file as UTF-8.",
                    file=self.file,
                ) from None


def _make_stream(
    file: Path, outline: DataTable, field: str | None, rows: Callable[[], Iterator[NumberedRow]]
) -> RowStream:
    """Return a stream of a file that is read from its first line."""

    def cut(wanted: range, size: int) -> Iterator[DataTable]:
        numbered = islice(rows(), wanted.start, wanted.stop)
        while chunk := list(islice(numbered, size)):
            yield replace(outline, rows=[row for _, row in chunk], lines=[number for number, _ in chunk])

    return RowStream(file, outline, sum(1 for _ in rows()), field, cut)


def _open_cells(file: Path, field: str, text: _LinedText, kind: str) -> RowStream:
    """Return a stream of CSV or TSV."""
    if not text.head:
        raise DataError("the table is empty; give one that has rows.", file=file)
    delimiter, skipped = find_delimiter(text.head, file, ReadReport()) if kind == "csv" else ("\t", 0)
    quoted = kind == "tsv" and _has_quotes(text.read())

    def read() -> Iterator[tuple[int, list[str]]]:
        if kind == "csv":
            found = split_quoted(text.read(), delimiter, skipped, file)
        else:
            found = ((number, line.split("\t")) for number, line in enumerate(text.read(), 1))
        for number, row in found:
            if row and row != [""]:
                yield number, [unquote(cell) for cell in row] if quoted else row

    first, most = None, 0
    for _, row in read():
        first, most = first or row, max(most, count_full(row))
    if first is None:
        raise DataError("the table has no rows; give one that has some.", file=file)
    outline = outline_cells(first, most, "csv" if kind == "csv" else "tsv", field, delimiter)
    take_texts(outline, field, file)  # refuses a column that is not there
    width = len(outline.names)

    def fit() -> Iterator[NumberedRow]:
        return ((n, fit_row(row, width, file, n)) for n, row in islice(read(), 1 if outline.header else 0, None))

    return _make_stream(file, outline, field, fit)


def _has_quotes(lines: Iterable[str]) -> bool:
    """Tell whether cells of TSV are in the quotes of a spreadsheet."""
    doubled = False
    for line in lines:
        for cell in line.split("\t") if '"' in line else ():
            if cell.startswith('"') and not QUOTED.fullmatch(cell):
                return False
            doubled |= cell.startswith('"') and '""' in cell[1:-1]
    return doubled


def _open_objects(file: Path, field: str, text: _LinedText) -> RowStream:
    """Return a stream of JSON lines."""
    names = dict[str, None]()
    known, count = False, 0
    for _, record in parse_lines(text.read(), file):
        names.update(dict.fromkeys(record))
        known, count = known or _has_field(record, field), count + 1
    outline = DataTable(tuple(names), [], "jsonl")
    if not count:
        raise DataError("the table has no rows; give one that has some.", file=file)
    if not known:
        take_texts(outline, field, file)

    def read() -> Iterator[NumberedRow]:
        for number, record in parse_lines(text.read(), file):
            yield number, [record.get(name, MISSING) for name in names]

    return replace(_make_stream(file, outline, field, read), count=count)


def _has_field(record: dict[str, Any], field: str) -> bool:
    return field in record or any(name == field for name, _ in flatten(record))


def _open_parquet(file: Path, field: str | None) -> RowStream:
    """Return a stream of Parquet, which is read by groups of rows."""
    if field is None:
        raise DataError("this is a table; name the column to predict with --fields COLUMN.", file=file)
    stream = ParquetStream(file)
    outline = DataTable(stream.names, [], "parquet", before=stream.empty)
    if not stream.count:
        raise DataError("the table has no rows; give one that has some.", file=file)
    if field not in stream.fields:
        take_texts(outline, field, file)

    def cut(wanted: range, size: int) -> Iterator[DataTable]:
        start = wanted.start
        for table in stream.read(wanted, size):
            rows = [tuple(record.values()) for record in table.to_pylist()]
            yield replace(outline, rows=rows, lines=range(start + 1, start + 1 + len(rows)), before=table)
            start += len(rows)

    return RowStream(file, outline, stream.count, field, cut)
