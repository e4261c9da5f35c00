"""The inputs of a run on the command line: lines of a file or of standard input, images, or folders of them."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seq2see.cli.messages import warn
from seq2see.core.errors import DataError
from seq2see.core.plural import say_count

MAX_NAMED = 5  # unknown characters or words that a warning names

if TYPE_CHECKING:
    from seq2see.data.modalities.modality import Modality
    from seq2see.data.pairs import Pairs
    from seq2see.runs.run import Run


def read_inputs(run: "Run", files: Sequence[Path], *, encoding: str | None = None, tables: bool = False) -> list[str]:
    """Return the sources that files contain or name, in order.

    Args:
        run: the run, which reads texts or images.
        files: one file of texts, or images, folders and lists of images; none, or `-`, is standard input.
        encoding: the encoding of texts and lists; None takes UTF-8, or guesses another one.
        tables: whether a line of a table is one input too; else a table is refused.

    Raises:
        DataError: the run reads something else, or a file cannot be read.
    """
    from seq2see.data.formats.table_kind import find_kind

    for file in () if tables else files:
        if find_kind(file.name) == "parquet":
            refuse_table(run, file, [])
    return READERS[run.task.source.reads](run, files, encoding, tables)


def read_text_file(run: "Run", files: Sequence[Path], encoding: str | None, tables: bool) -> list[str]:
    """Return the lines of one file, each of which is a text.

    Args:
        run: a run that reads texts.
        files: one file at most; none is standard input.
        encoding: the encoding of the file; None takes UTF-8, or guesses another one.
        tables: whether a table is permitted.

    Raises:
        DataError: there are several files, or the file is an image or a table.
    """
    from seq2see.data.formats.table_kind import resembles_table

    if len(files) > 1:
        raise DataError(f"this run reads texts, one a line of one file; got {len(files)} files; join them first.")
    for file in files:
        refuse_image(run, file)
    file = files[0] if files else Path("-")
    lines = read_lines(file, encoding)
    if not tables and resembles_table(file.name, lines):
        refuse_table(run, file, lines)
    return lines


def refuse_table(run: "Run", file: Path, lines: Sequence[str]) -> None:
    """Refuse a table of which no column is named, and propose the column of the sources.

    Args:
        run: the run, which may have been trained on a column of the same name.
        file: the file, or `-` for standard input.
        lines: its lines; empty for Parquet.

    Raises:
        DataError: always.
    """
    from seq2see.data.formats.data_table import propose_column, read_table
    from seq2see.data.formats.headers import list_names
    from seq2see.data.formats.lines import ReadReport

    trained = run.config.data.fields
    try:
        table = read_table(file, lines, "", ReadReport())
        names, column = table.names, propose_column(table, trained[0] if trained else None)
    except DataError:  # it cannot be read as it is
        names, column = tuple(lines[:1]), None
    raise DataError(
        f"this is a table whose first row has {list_names(names)}; name the column to predict with "
        f"--fields {shlex.quote(column or 'COLUMN')} (a name of the header, or a number), or give --lines to read "
        "every whole line as one input.",
        file=name_input(file),
    )


def name_input(file: Path) -> str:
    """Return the name of a file in messages.

    Args:
        file: a file, or `-` for standard input.
    """
    return "standard input" if str(file) == "-" else str(file)


def refuse_image(run: "Run", file: Path) -> None:
    """Refuse an image as the input of a run that reads texts.

    Args:
        run: the run.
        file: an argument of the command line; if no such image exists, it may be a text, and is accepted.

    Raises:
        DataError: the file is an image and the run reads texts.
    """
    if not run.task.source.accepts(file):
        raise DataError("this is an image, and the run reads texts; give a text, or a run for images.", file=file)


def check_pairs(run: "Run", pairs: "Pairs", *, name: str = "this run") -> None:
    """Refuse data that does not suit a run, and warn of labels that it does not know.

    Args:
        run: the run.
        pairs: the data.
        name: the name of the run in messages.

    Raises:
        DataError: the data is of another modality than the run reads, or has none of its labels.
    """
    from seq2see.core.registry import shorten
    from seq2see.runs.data_files import find_unknown_labels

    new = find_unknown_labels(run.task, pairs, name=name)
    if new:
        some = ", ".join(map(shorten, new[:3]))
        message = (
            f"warning: {say_count(len(new), 'label')} that {name} does not know, such as {some}; they count as mistakes"
        )
        warn(message)


def warn_of_length(run: "Run", lines: Sequence[str], remedy: str = "or cut it", *, first: int = 1) -> None:
    """Warn of inputs that are longer than all of the training, because they take long and are seldom right.

    Args:
        run: the run; nothing is printed if its outputs are labels.
        lines: the inputs.
        remedy: what the warning advises, as its last words.
        first: the number of the first input.
    """
    longest = run.config.data.max_tokens
    if not run.task.writes_text:
        return
    suspects = [(number, line) for number, line in enumerate(lines, first) if len(line) > longest]
    sizes = run.task.source.count_tokens([line for _, line in suspects])
    long = [(number, size) for (number, _), size in zip(suspects, sizes, strict=True) if size > longest]
    if long:
        number, size = long[0]
        who = f"line {number}" if len(lines) > 1 else "the input"
        others = f" (and {len(long) - 1:,} others)" if len(long) > 1 else ""
        warn(
            f"warning: {who}{others} has {size:,} tokens, and training had none with over {longest:,} "
            f"(data.max_tokens); expect mistakes and a long wait, {remedy}."
        )


def warn_of_unknown(run: "Run", lines: Sequence[str]) -> None:
    """Warn of characters and words that the vocabulary of a run lacks, because the run cannot tell them apart.

    Args:
        run: the run; nothing is printed if it reads images.
        lines: the inputs.
    """
    from collections import Counter

    from seq2see.core.registry import shorten
    from seq2see.core.words import GRAPHEME
    from seq2see.data.modalities.modality import find_unknown

    found = [[token.text for token in find_unknown(run.task.source, line)] for line in lines]
    counts = Counter(text for texts in found for text in texts)
    if not counts:
        return
    have = sum(map(bool, found))
    who = "the input" if len(lines) == 1 else f"{have:,} of {say_count(len(lines), 'line')}"
    verb = "has" if have == 1 else "have"
    kind = "characters" if all(GRAPHEME.fullmatch(text) for text in counts) else "words or characters"
    most = counts.most_common(MAX_NAMED)
    named = ", ".join(shorten(text) + (f" ({count:,})" if count > 1 else "") for text, count in most)
    more = f" and {len(counts) - MAX_NAMED:,} others" if len(counts) > MAX_NAMED else ""
    message = (
        f"warning: {who} {verb} {kind} that the run does not know: {named}{more}; it reads each as the same unknown "
        "token, so expect mistakes."
    )
    warn(message)


def read_lines(file: Path, encoding: str | None = None) -> list[str]:
    """Return the lines of a file; print the encoding if it had to be guessed.

    Args:
        file: the file; `-` is standard input.
        encoding: its encoding; None takes UTF-8, or guesses another one.
    """
    from seq2see.data.formats.encodings import UTF8, check_encoding, decode, guess_encoding
    from seq2see.data.formats.file_bytes import read_bytes, read_whole
    from seq2see.data.formats.lines import split_lines

    if str(file) == "-" and sys.stdin.isatty():
        typer.echo("type one input a line, and Ctrl-D when done", err=True)
    name = name_input(file)
    data = read_whole(sys.stdin.buffer, name) if str(file) == "-" else read_bytes(file)
    chosen = check_encoding(encoding) if encoding is not None else guess_encoding(data, name)
    if encoding is None and chosen != UTF8:
        message = f"warning: {name}: the text is not UTF-8, and is read as {chosen}; --encoding names another."
        warn(message)
    return split_lines(decode(data, name, chosen))


def read_image_files(run: "Run", files: Sequence[Path], encoding: str | None, tables: bool) -> list[str]:
    """Return the paths of images for a run that reads images.

    Args:
        run: the run.
        files: the images, folders or lists, as for `read_images`.
        encoding: the encoding of lists; None takes UTF-8, or guesses another one.
        tables: whether lines of a table are paths.
    """
    from seq2see.data.formats.table_kind import find_kind

    for file in () if tables else files:
        if find_kind(file.name) is not None:
            refuse_table(run, file, read_lines(file, encoding))
    return read_images(run.task.source, files, encoding=encoding)


def read_images(images: "Modality", files: Sequence[Path], *, encoding: str | None = None) -> list[str]:
    """Return the paths of all images that can be read, and warn of the others.

    Args:
        images: the modality of the run, which tries to open the images.
        files: images, folders of images, or lists: a .txt or .lst file, or `-` for standard input, with a path in each
            line. An image that cannot be read is left out, but in a list its line becomes blank. No files: standard
            input.
        encoding: the encoding of lists; None takes UTF-8, or guesses another one.

    Raises:
        DataError: no image can be read.
    """
    named = [(path, _is_list(file)) for file in files or [Path("-")] for path in _list_images(file, encoding)]
    broken = images.find_broken(path for path, _ in named if path.strip())
    for error in broken.values():
        warn(f"warning: left out: {error}")
    kept = ["" if path in broken else path for path, listed in named if listed or path not in broken]
    if not any(path.strip() for path in kept):
        raise DataError("there is no image to read; give images, or folders that hold some.")
    return kept


def _list_images(file: Path, encoding: str | None) -> list[str]:
    """Return an image itself, the images in a folder and its sub-folders, or the lines of a list."""
    from seq2see.data.formats.folders import list_files
    from seq2see.data.formats.image_paths import IMAGE_ENDINGS

    if file.is_dir():
        return [path for path in list_files(file) if path.lower().endswith(IMAGE_ENDINGS)]
    return read_lines(file, encoding) if _is_list(file) else [str(file)]


def _is_list(file: Path) -> bool:
    """Tell whether a file is a list of images."""
    from seq2see.data.formats.table_kind import find_kind

    return str(file) == "-" or file.suffix.lower() in (".txt", ".lst") or find_kind(file.name) is not None


READERS = {"text": read_text_file, "images": read_image_files}  # by what a run reads
