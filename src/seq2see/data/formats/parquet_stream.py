"""Parquet files of any size, read by groups of rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2see.core.errors import DataError
from seq2see.data.formats.parquet import ArrowTable, explain_absence


class ParquetStream:
    """Reads a file chunk by chunk; its rows and columns are known from its end.

    Args:
        file: a `.parquet` file.

    Raises:
        DataError: pyarrow is not installed, or this is no Parquet.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with self._open() as content:
            self.count: int = content.metadata.num_rows
            self.empty: ArrowTable = content.schema_arrow.empty_table()
            self.names: tuple[str, ...] = tuple(content.schema_arrow.names)
            self.fields = set(self.names) | {name for kind in content.schema_arrow for name in _list_fields(kind, "")}

    def read(self, rows: range, size: int) -> Iterator[ArrowTable]:
        """Read some of the rows.

        Args:
            rows: which rows, counted from 0.
            size: how many rows a table has; the last one may have fewer.

        Yields:
            Tables of pyarrow, one after the other.
        """
        import pyarrow

        left, held = len(rows), []
        with self._open() as content:
            groups, skipped = _find_groups(content.metadata, rows)
            for batch in content.iter_batches(batch_size=size, row_groups=groups) if groups else ():
                table = pyarrow.Table.from_batches([batch])
                held.append(table.slice(skipped, left))
                skipped = max(0, skipped - len(table))
                left -= len(held[-1])
                while sum(map(len, held)) >= size:
                    whole = pyarrow.concat_tables(held)
                    yield whole.slice(0, size)
                    held = [whole.slice(size)]
                if not left:
                    break
            if sum(map(len, held)):
                yield pyarrow.concat_tables(held)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the file; what pyarrow raises inside the block becomes one sentence."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise DataError(explain_absence(), file=self.file) from None
        try:
            with parquet.ParquetFile(self.file, pre_buffer=False) as content:
                yield content
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"this is no Parquet: {reason}; fix the file or copy it again.", file=self.file) from None


def _find_groups(metadata: Any, rows: range) -> tuple[list[int], int]:
    """Return the groups that hold some rows, and how many rows of the first group come before them."""
    groups = list[int]()
    start, skipped = 0, 0
    for number in range(metadata.num_row_groups):
        stop = start + metadata.row_group(number).num_rows
        if rows and start < rows.stop and rows.start < stop:
            skipped = skipped if groups else rows.start - start
            groups.append(number)
        start = stop
    return groups, skipped


def _list_fields(field: Any, prefix: str) -> Iterator[str]:
    """List a column, or the fields of the objects in it, named outer.inner."""
    from pyarrow import types

    yield prefix + field.name
    for inner in field.type if types.is_struct(field.type) else ():
        yield from _list_fields(inner, f"{prefix}{field.name}.")
