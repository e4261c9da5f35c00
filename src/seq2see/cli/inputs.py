"""What people give a run to read: lines of a file or of standard input, pictures, or folders of them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2see.core.errors import DataError
from seq2see.core.number import say_count

if TYPE_CHECKING:
    from seq2see.data.pairs import Pairs
    from seq2see.data.pictures import Pictures
    from seq2see.run import Run

COLUMNS = {".tsv": "\t", ".csv": ",", ".jsonl": "{", ".ndjson": "{"}  # what a line of several columns has in it


def read_inputs(run: "Run", files: Sequence[Path]) -> list[str]:
    """The sources that files stand for, in their order."""
    if run.config.reads_pictures:
        return read_pictures(run.task.source, files)
    if len(files) > 1:
        raise DataError(f"this run reads texts, one a line of one file; got {len(files)} files; join them first.")
    for file in files:
        refuse_picture(run, file)
    file = files[0] if files else Path("-")
    lines = read_lines(file)
    warn_of_columns(file, lines)
    return lines


def warn_of_columns(file: Path, lines: Sequence[str]) -> None:
    """Tell whoever gives a file of pairs that every line of it is read as it stands."""
    sign = COLUMNS.get(file.suffix.lower())
    if sign is not None and any(sign in line for line in lines[:1]):
        typer.secho(
            f"warning: {file}: every line is one input as it stands, columns and all; give a file of inputs alone "
            "(for pairs there is `seq2see evaluate`).",
            fg=typer.colors.YELLOW,
            err=True,
        )


def refuse_picture(run: "Run", file: Path) -> None:
    """Tell whoever gives a picture to a run that reads texts; a text that looks like a name of one is a text."""
    from seq2see.data.album import ENDINGS

    if not run.config.reads_pictures and file.suffix.lower() in ENDINGS and file.is_file():
        raise DataError("this is a picture, and the run reads texts; give a text, or a run for pictures.", file=file)


def check_pairs(run: "Run", pairs: "Pairs", *, name: str = "this run") -> None:
    """Refuse data of another kind than the run reads, or with none of its labels; name labels that it cannot know."""
    from seq2see.data.kinds import guess_kind
    from seq2see.data.labels import LabelSet, split_labels

    kinds = "pictures" if run.config.reads_pictures else "text", guess_kind(pairs)
    if kinds[0] != kinds[1]:
        raise DataError(f"{name} reads {kinds[0]}, and the data is {kinds[1]}; give data such as it was trained on.")
    if not isinstance(run.task.target, LabelSet):
        return
    known, separator = set(run.task.target.names), run.task.target.separator
    labels = {label for target in pairs.target for label in split_labels(target, separator)}
    new = sorted(labels - known)
    some = ", ".join(map(repr, new[:3]))
    if labels and not labels & known:
        raise DataError(f"{name} knows none of the labels of the data, such as {some}; check files and columns.")
    if new:
        message = (
            f"warning: {say_count(len(new), 'label')} that {name} does not know, such as {some}: mistakes for certain"
        )
        typer.secho(message, fg=typer.colors.YELLOW, err=True)


def warn_of_length(run: "Run", lines: Sequence[str], remedy: str = "or cut it") -> None:
    """Name the lines that are longer than all that training has shown, which take long and seldom succeed."""
    longest = run.config.data.max_tokens
    if run.config.reads_pictures or run.config.task == "classification":
        return
    suspects = [(number, line) for number, line in enumerate(lines, 1) if len(line) > longest]
    sizes = run.task.source.prepare([line for _, line in suspects]).lengths.tolist() if suspects else []
    long = [(number, size) for (number, _), size in zip(suspects, sizes, strict=True) if size > longest]
    if long:
        number, size = long[0]
        who = f"line {number}" if len(lines) > 1 else "the input"
        others = f" (and {len(long) - 1:,} others)" if len(long) > 1 else ""
        typer.secho(
            f"warning: {who}{others} has {size:,} tokens, and training showed none with over {longest:,} "
            f"(data.max_tokens); expect little and wait long, {remedy}.",
            fg=typer.colors.YELLOW,
            err=True,
        )


def read_lines(file: Path) -> list[str]:
    """The lines of a file; - is standard input."""
    from seq2see.data.readers import decode, read_bytes, split_lines

    if str(file) == "-" and sys.stdin.isatty():
        typer.echo("type one input a line, and Ctrl-D when done", err=True)
    data = sys.stdin.buffer.read() if str(file) == "-" else read_bytes(file)
    return split_lines(decode(data, "standard input" if str(file) == "-" else str(file)))


def read_pictures(pictures: "Pictures", files: Sequence[Path]) -> list[str]:
    """The paths of all pictures that can be read; the others are named, and left out, or of a list left blank."""
    named = [(path, _is_list(file)) for file in files or [Path("-")] for path in _list_pictures(file)]
    broken = pictures.find_broken(path for path, _ in named if path.strip())
    for error in broken.values():
        typer.secho(f"warning: left out: {error}", fg=typer.colors.YELLOW, err=True)
    kept = ["" if path in broken else path for path, listed in named if listed or path not in broken]
    if not any(path.strip() for path in kept):
        raise DataError("there is no picture to read; give pictures, or folders that hold some.")
    return kept


def _list_pictures(file: Path) -> list[str]:
    """A picture itself, those in a folder and the folders in it, or those that the lines of a text name."""
    from seq2see.data.album import ENDINGS
    from seq2see.data.folders import list_files

    if file.is_dir():
        return [path for path in list_files(file) if path.lower().endswith(ENDINGS)]
    return read_lines(file) if _is_list(file) else [str(file)]


def _is_list(file: Path) -> bool:
    """Whether the lines of a file name pictures."""
    return str(file) == "-" or file.suffix.lower() in (".txt", ".lst")
