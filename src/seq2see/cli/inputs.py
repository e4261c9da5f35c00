"""What people give a run to read: lines of a file or of standard input, pictures, or folders of them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2see.core.errors import DataError

if TYPE_CHECKING:
    from seq2see.data.pictures import Pictures
    from seq2see.run import Run


def read_inputs(run: "Run", files: Sequence[Path]) -> list[str]:
    """The sources that files stand for, in their order."""
    from seq2see.data.pictures import Pictures

    if isinstance(run.task.source, Pictures):
        return read_pictures(run.task.source, files)
    if len(files) > 1:
        raise DataError(f"this run reads texts, one a line of one file; got {len(files)} files; join them first.")
    return read_lines(files[0] if files else Path("-"))


def read_lines(file: Path) -> list[str]:
    """The lines of a file; - is standard input."""
    from seq2see.data.readers import decode, read_bytes, split_lines

    if str(file) == "-" and sys.stdin.isatty():
        typer.echo("type one input a line, and Ctrl-D when done", err=True)
    data = sys.stdin.buffer.read() if str(file) == "-" else read_bytes(file)
    return split_lines(decode(data, "standard input" if str(file) == "-" else str(file)))


def read_pictures(pictures: "Pictures", files: Sequence[Path]) -> list[str]:
    """The paths of all pictures that can be read; the others are named and left out."""
    named = [path for file in files or [Path("-")] for path in _list_pictures(file)]
    broken = pictures.find_broken(named)
    for error in broken.values():
        typer.secho(f"warning: left out: {error}", fg=typer.colors.YELLOW, err=True)
    kept = [path for path in named if path not in broken]
    if not kept:
        raise DataError("there is no picture to read; give pictures, or folders that hold some.")
    return kept


def _list_pictures(file: Path) -> list[str]:
    """A picture itself, those in a folder and the folders in it, or those that the lines of a text name."""
    from seq2see.data.album import ENDINGS
    from seq2see.data.folders import list_files

    if file.is_dir():
        return [path for path in list_files(file) if path.lower().endswith(ENDINGS)]
    if str(file) == "-" or file.suffix.lower() in (".txt", ".lst"):
        return [line for line in read_lines(file) if line.strip()]
    return [str(file)]
