"""Parquet files, by columns; they need pyarrow, which the extra `parquet` installs."""

import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from seq2see.core.errors import DataError
from seq2see.core.installation import say_install
from seq2see.data.formats.file_bytes import find_most_expanded, read_bytes, refuse_expansion

GROUP_ROWS = 100_000  # that are compressed together, and are in memory at once while a file is written
# new columns that hold numbers, also where all of them are null
NUMBERS = re.compile(r"(.+_)?confidence(_\d+)?|probability_.+", re.DOTALL)
BYTES_PER_PLACE = 4  # of a value in a column that names each different value once


@runtime_checkable
class ArrowTable(Protocol):
    """A table of pyarrow."""

    @property
    def num_columns(self) -> int: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def schema(self) -> object: ...
    def to_pylist(self) -> list[dict[str, object]]:
        """Return the rows as dictionaries."""

    def append_column(self, name: str, column: object) -> "ArrowTable":
        """Return the table with one column more.

        Args:
            name: its name.
            column: its values, as an array of pyarrow.
        """


def explain_absence() -> str:
    """Say in one sentence how to read or write Parquet where pyarrow is not installed."""
    return f"Parquet needs pyarrow, which is not installed; run: {say_install(extra='parquet')}; or use CSV."


def read_objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read each row as an object; dates and other values that JSON does not have become texts.

    Args:
        file: a `.parquet` file.

    Yields:
        The number of the row, counted from 1, and the object.
    """
    for number, row in enumerate(read_arrow(file).to_pylist(), 1):
        yield number, {name: to_json_value(value) for name, value in row.items()}


def read_arrow(file: Path) -> ArrowTable:
    """Read a whole file.

    Args:
        file: a `.parquet` file.

    Raises:
        DataError: pyarrow is not installed, or this is no Parquet.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DataError(explain_absence(), file=file) from None
    try:
        data = read_bytes(file)
        _check_expansion(parquet, pyarrow.BufferReader(data), len(data), file)
        table: ArrowTable = parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"this is no Parquet: {reason}; fix the file or copy it again.", file=file) from None
    return table


def _check_expansion(parquet: Any, content: object, packed: int, file: Path) -> None:
    """Refuse a file whose rows are far larger than itself: a text in every row is written once, with its places."""
    most = find_most_expanded(packed)
    head = parquet.ParquetFile(content)
    groups = [head.metadata.row_group(number) for number in range(head.metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    expanded = sum(column.total_uncompressed_size + BYTES_PER_PLACE * column.num_values for column in columns)
    texts = [column.path_in_schema for column in columns if column.physical_type == "BYTE_ARRAY"]
    if expanded <= most and texts:
        batches = parquet.ParquetFile(content, read_dictionary=texts).iter_batches(columns=sorted(set(texts)))
        expanded += sum(_measure(array) for batch in batches for array in batch.columns)
    if expanded > most:
        raise refuse_expansion(file, most)


def _measure(array: Any) -> int:
    """Return the bytes of the texts in a column of pyarrow."""
    from pyarrow import DictionaryArray, compute, types

    while types.is_list(array.type) or types.is_large_list(array.type):
        array = array.flatten()
    if not isinstance(array, DictionaryArray):
        return int(array.nbytes)
    sizes = compute.binary_length(array.dictionary).cast("int64")
    return compute.sum(sizes.take(array.indices)).as_py() or 0


def require_pyarrow(file: Path) -> None:
    """Refuse Parquet early if pyarrow is not installed.

    Args:
        file: the file that will be written, for the error.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(explain_absence(), file=file)


def add_columns(before: ArrowTable | None, columns: Mapping[str, Sequence[object]], file: Path) -> ArrowTable:
    """Return a table of pyarrow with the columns of another, if there is one, and then others.

    Args:
        before: a table, whose columns keep their types.
        columns: further columns by name, with as many values as the table has rows.
        file: the file that will be written, for errors.

    Raises:
        DataError: pyarrow is not installed, or a column has values of several types.
    """
    try:
        import pyarrow
    except ImportError:
        raise DataError(explain_absence(), file=file) from None
    try:
        table = before if before is not None else pyarrow.table({})
        for name, values in columns.items():
            column = _to_column(name, values)
            table = pyarrow.table({name: column}) if not table.num_columns else table.append_column(name, column)
        return table
    except pyarrow.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"a column of Parquet needs values of one type: {reason}; write CSV.", file=file) from None


def _to_column(name: str, values: Sequence[object]) -> Any:
    """Return values as an array of pyarrow, whose type depends on none of them where all are null."""
    import pyarrow

    column = pyarrow.array(list(values))
    usual = pyarrow.float64() if NUMBERS.fullmatch(name) else pyarrow.string()
    return column.cast(usual) if pyarrow.types.is_null(column.type) else column


def write_tables(tables: Iterable[ArrowTable], out: BufferedIOBase) -> None:
    """Write tables of the same columns one below the other, always cut into the same groups of rows.

    The file is the same, byte for byte, however its rows are divided among the tables.

    Args:
        tables: at least one table of pyarrow.
        out: the file or buffer that is written.
    """
    import pyarrow
    from pyarrow import parquet

    rows = iter(tables)
    first = next(rows)
    held = list[ArrowTable]()
    with parquet.ParquetWriter(out, first.schema) as writer:
        for table in chain([first], rows):
            held.append(table)
            while sum(each.num_rows for each in held) >= GROUP_ROWS:
                whole = pyarrow.concat_tables(held)
                writer.write_table(whole.slice(0, GROUP_ROWS).combine_chunks(), row_group_size=GROUP_ROWS)
                held = [whole.slice(GROUP_ROWS)]
        if any(each.num_rows for each in held):
            writer.write_table(pyarrow.concat_tables(held).combine_chunks(), row_group_size=GROUP_ROWS)


def to_json_value(value: object) -> object:
    """Return a value as JSON; one that JSON does not have as text.

    Args:
        value: any value, such as a number, a date, a list or an object.
    """
    if isinstance(value, Mapping):
        return {str(name): to_json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
