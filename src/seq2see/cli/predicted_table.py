"""A table of inputs on the command line: one column is predicted, and all are written with more."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2see.cli.inputs import name_input, read_inputs, read_lines
from seq2see.cli.messages import warn
from seq2see.core.errors import DataError
from seq2see.core.unicode import escape_controls

if TYPE_CHECKING:
    from seq2see.data.formats.data_table import DataTable
    from seq2see.data.formats.table_kind import Kind
    from seq2see.runs.prediction import Prediction
    from seq2see.runs.run import Run


def gather_inputs(
    run: "Run", files: Sequence[Path], *, field: str | None, lines: bool, encoding: str | None
) -> "tuple[DataTable, list[str]]":
    """Return the inputs of a run, and the table that they are a column of.

    Args:
        run: the run.
        files: the files that are read; none is standard input.
        field: the column of a table; None for other inputs, which are a table of their own.
        lines: whether a line of a table is one input too.
        encoding: the encoding of files; None takes UTF-8, or guesses another one.
    """
    if field is not None:
        return read_column(run, files, field, encoding)
    sources = read_inputs(run, files, encoding=encoding, tables=lines)
    return table_lines(sources), sources


def read_column(run: "Run", files: Sequence[Path], field: str, encoding: str | None) -> "tuple[DataTable, list[str]]":
    """Read a table, and the inputs in one of its columns.

    Args:
        run: the run, which reads texts or images.
        files: the file of the table; none, or `-`, is standard input.
        field: the name of the column, or its number from 1 if there is no header.
        encoding: the encoding of the file; None takes UTF-8, or guesses another one.

    Raises:
        DataError: there are several files, or this is no table, or it has no such column.
    """
    from seq2see.data.formats.data_table import read_table, take_texts
    from seq2see.data.formats.lines import ReadReport
    from seq2see.data.formats.table_kind import find_kind

    if len(files) > 1:
        raise DataError(f"--fields takes a column of one table; got {len(files)} files; predict them one by one.")
    file = files[0] if files else Path("-")
    lines = [] if find_kind(file.name) == "parquet" else read_lines(file, encoding)
    if not lines and find_kind(file.name) != "parquet":
        raise DataError("the table is empty; give one that has rows.", file=name_input(file))
    table = read_table(file, lines, field, ReadReport())
    return table, CELLS[run.task.source.reads](run, take_texts(table, field, file), file)


def keep_texts(run: "Run", cells: list[str], file: Path) -> list[str]:
    """Return the cells of a column as they are.

    Args:
        run: a run that reads texts.
        cells: the texts.
        file: the table.
    """
    return cells


def find_image_files(run: "Run", cells: list[str], file: Path) -> list[str]:
    """Return the paths of images that a column names; those that cannot be read are warned of, and blank.

    Args:
        run: a run that reads images.
        cells: the names of images, beside the table or in folders such as `images`.
        file: the table.
    """
    from seq2see.data.formats.image_paths import resolve_images

    paths = resolve_images(cells, file)
    broken = run.task.source.find_broken(path for path in paths if path)
    for error in broken.values():
        warn(f"warning: left out: {error}")
    return ["" if path in broken else path for path in paths]


CELLS = {"text": keep_texts, "images": find_image_files}  # by what a run reads


def table_lines(sources: Sequence[str]) -> "DataTable":
    """Return inputs that come from no table as a table with the one column `source`.

    Args:
        sources: the inputs.
    """
    from seq2see.data.formats.data_table import DataTable

    return DataTable(("source",), [(source,) for source in sources], "csv")


def choose_kind(table: "DataTable", out: Path | None) -> "Kind":
    """Return the format to write: by the ending of the file, else as the table was read.

    Args:
        table: the table.
        out: the file to write; None is standard output.

    Raises:
        DataError: the ending names no format of tables, or Parquet would go to standard output.
    """
    from seq2see.data.formats.table_kind import ENDINGS, find_kind

    kind = table.kind if out is None else find_kind(out.name)
    if kind is None:
        raise DataError(f"a table must end in {', '.join(ENDINGS)}; rename it, or give --format.", file=out)
    if kind == "parquet":
        from seq2see.data.formats.parquet import require_pyarrow

        require_pyarrow(out or Path("standard output"))
    if out is None and kind == "parquet":
        raise DataError("Parquet is not written to standard output; name a file with -o.")
    return kind


def save_table(
    table: "DataTable",
    run: "Run",
    predictions: "Iterable[Prediction]",
    kind: "Kind",
    out: Path | None,
    *,
    outputs: int = 1,
) -> None:
    """Write a table with the columns of its predictions, in one step.

    Args:
        table: the table.
        run: the run that predicts.
        predictions: the prediction of each row.
        kind: the format to write.
        out: the file to write; None is standard output.
        outputs: how many outputs of each row were asked for.
    """
    from seq2see.data.formats.data_table import write_table
    from seq2see.runs.prediction_columns import list_columns
    from seq2see.system.files import write_atomic

    whole = table.add(list_columns(run, list(predictions), outputs))
    content = write_table(whole, kind, out or Path("standard output"))
    if out is None:
        text = content.decode()
        sys.stdout.write(escape_controls(text, kept="\t\n") if sys.stdout.isatty() else text)
    else:
        write_atomic(out, content)
