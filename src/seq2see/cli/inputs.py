"""The inputs of a run on the command line: lines of a file or of standard input, images, or folders of them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2see.core.errors import DataError
from seq2see.core.plural import say_count

if TYPE_CHECKING:
    from seq2see.data.modalities.modality import Modality
    from seq2see.data.pairs import Pairs
    from seq2see.runs.run import Run

COLUMNS = {".tsv": "\t", ".csv": ",", ".jsonl": "{", ".ndjson": "{"}  # what a line of several columns has in it


def read_inputs(run: "Run", files: Sequence[Path]) -> list[str]:
    """The sources that files hold or name, in their order."""
    return READERS[run.task.source.reads](run, files)


def read_text_file(run: "Run", files: Sequence[Path]) -> list[str]:
    """The lines of one file, each of which is a text."""
    if len(files) > 1:
        raise DataError(f"this run reads texts, one a line of one file; got {len(files)} files; join them first.")
    for file in files:
        refuse_image(run, file)
    file = files[0] if files else Path("-")
    lines = read_lines(file)
    warn_of_columns(file, lines)
    return lines


def warn_of_columns(file: Path, lines: Sequence[str]) -> None:
    """Warn that every line of a file with columns is one input as a whole."""
    sign = COLUMNS.get(file.suffix.lower())
    if sign is not None and any(sign in line for line in lines[:1]):
        typer.secho(
            f"warning: {file}: every line is one input as it stands, columns and all; give a file of inputs alone "
            "(for pairs there is `seq2see evaluate`).",
            fg=typer.colors.YELLOW,
            err=True,
        )


def refuse_image(run: "Run", file: Path) -> None:
    """Tell whoever gives an image to a run that reads texts; a text that looks like a name of one is a text."""
    if not run.task.source.accepts(file):
        raise DataError("this is an image, and the run reads texts; give a text, or a run for images.", file=file)


def check_pairs(run: "Run", pairs: "Pairs", *, name: str = "this run") -> None:
    """Refuse data of another modality than the run reads, or with none of its labels; warn of unknown labels."""
    from seq2see.data.checks.infer import infer_modality

    wanted, given = run.task.source.reads, infer_modality(pairs)
    if wanted != given:
        raise DataError(f"{name} reads {wanted}, and the data is {given}; give data such as it was trained on.")
    known = run.task.target.vocabulary.keys()
    labels = {label for target in pairs.target for label in run.task.target.labels(target)}
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
    """Warn of lines that are longer than all of training, which take long and seldom succeed."""
    longest = run.config.data.max_tokens
    if not run.task.writes_text:
        return
    suspects = [(number, line) for number, line in enumerate(lines, 1) if len(line) > longest]
    sizes = run.task.source.count_tokens([line for _, line in suspects])
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
    from seq2see.data.formats.lines import decode, read_bytes, split_lines

    if str(file) == "-" and sys.stdin.isatty():
        typer.echo("type one input a line, and Ctrl-D when done", err=True)
    data = sys.stdin.buffer.read() if str(file) == "-" else read_bytes(file)
    return split_lines(decode(data, "standard input" if str(file) == "-" else str(file)))


def read_image_files(run: "Run", files: Sequence[Path]) -> list[str]:
    """The paths of images that files and folders hold or name."""
    return read_images(run.task.source, files)


def read_images(images: "Modality", files: Sequence[Path]) -> list[str]:
    """The paths of all images that can be read; the others are warned of, and left out, or blank in a list."""
    named = [(path, _is_list(file)) for file in files or [Path("-")] for path in _list_images(file)]
    broken = images.find_broken(path for path, _ in named if path.strip())
    for error in broken.values():
        typer.secho(f"warning: left out: {error}", fg=typer.colors.YELLOW, err=True)
    kept = ["" if path in broken else path for path, listed in named if listed or path not in broken]
    if not any(path.strip() for path in kept):
        raise DataError("there is no image to read; give images, or folders that hold some.")
    return kept


def _list_images(file: Path) -> list[str]:
    """An image itself, those in a folder and the folders in it, or those that the lines of a text name."""
    from seq2see.data.formats.folders import list_files
    from seq2see.data.formats.image_paths import IMAGE_ENDINGS

    if file.is_dir():
        return [path for path in list_files(file) if path.lower().endswith(IMAGE_ENDINGS)]
    return read_lines(file) if _is_list(file) else [str(file)]


def _is_list(file: Path) -> bool:
    """Whether the lines of a file name images."""
    return str(file) == "-" or file.suffix.lower() in (".txt", ".lst")


READERS = {"text": read_text_file, "images": read_image_files}  # by what a run reads
