"""Lines of text files, compressed or not, with byte order marks, carriage returns and other oddities."""

import re
from pathlib import Path
from typing import Literal

from seq2see.core.errors import DataError
from seq2see.data.formats.encodings import UTF8, decode, guess_encoding
from seq2see.data.formats.file_bytes import read_bytes
from seq2see.data.pairs import Finding

GUESSED = "if letters are wrong, name its encoding with --encoding"  # the remedy of an encoding that was guessed
IGNORED = "it is ignored"  # the remedy of what does no harm
ODDITIES = [
    (r"^\ufeff", "a byte order mark (BOM) before the first character", IGNORED),
    (r"\r$", "Windows line ends (CRLF)", IGNORED),
    (r"\r(?!\r*$)", "a carriage return inside the line", "it is read as a space; clean the file"),
    ("\0", "a NUL character", "it is read as a space; clean the file"),
    (
        "[\v\f\x1c-\x1e\x85\u2028\u2029]",
        "a separator such as U+2028 or a form feed inside the line",
        "it is kept, but other programs may break the line there; clean the file",
    ),
]


class ReadReport:
    """What was odd while files were read, and what they say of their sources and targets.

    Args:
        encoding: the encoding of the files; None guesses it.
    """

    def __init__(self, encoding: str | None = None) -> None:
        self.encoding = encoding
        self.findings: list[Finding] = []
        self.images = False  # whether the file says that its sources are images
        self.labels: bool | None = None  # whether it says that its targets are labels, or that they are not
        self.lined = True  # whether records are lines, whose numbers help to find them
        self.separator: str | None = None  # what was put between the labels of one source, if it lists several

    def note(
        self, message: str, remedy: str, file: Path, lines: list[int], level: Literal["warning", "note"] = "warning"
    ) -> None:
        """Report one finding for all lines that share a fault; without such a line nothing is reported.

        Args:
            message: what is odd, without a full stop.
            remedy: what to do about it, or what is done, without a full stop.
            file: the file.
            lines: the lines, counted from 1.
            level: warning if training may suffer, note if it may be as it should be.
        """
        if lines:
            self.findings.append(Finding(level, message, remedy, file, lines[0] if self.lined else None, len(lines)))


def read_lines(file: Path, reading: ReadReport) -> list[str]:
    """Read the lines of a text file; only a line feed ends a line, so that U+2028 cannot shift pairs.

    Args:
        file: the file, which may be compressed with gzip.
        reading: collects what is odd.
    """
    text = read_text(file, reading)
    if not text.replace("\ufeff", "").strip():
        raise DataError("the file is empty; give at least a few pairs.", file=file)
    if _ends_lines_with_cr(text):
        reading.note("old Macintosh line ends (CR)", "they are read as line ends", file, [1])
    lines = _split(text)
    for pattern, message, remedy in ODDITIES:
        odd = re.compile(pattern, re.MULTILINE)
        places = [number for number, line in enumerate(lines, 1) if odd.search(line)] if odd.search(text) else []
        reading.note(message, remedy, file, places, level="note" if remedy is IGNORED else "warning")
    return [clean_line(line) for line in lines]


def read_text(file: Path, reading: ReadReport) -> str:
    """Read a text file in the encoding that is named, else in UTF-8 or the encoding that its bytes show.

    Args:
        file: the file, which may be compressed with gzip.
        reading: names the encoding, and is told of one that was guessed.
    """
    data = read_bytes(file)
    encoding = reading.encoding or guess_encoding(data, file)
    if encoding not in (UTF8, reading.encoding):
        reading.note(f"the text is not UTF-8, and is read as {encoding}", GUESSED, file, [1])
    return decode(data, file, encoding)


def split_lines(text: str) -> list[str]:
    """Split a text into lines, without byte order mark, carriage returns and NUL.

    Args:
        text: a decoded text; only a line feed ends a line, or a carriage return if there is no line feed.
    """
    return [clean_line(line) for line in _split(text)]


def _ends_lines_with_cr(text: str) -> bool:
    """Tell whether a carriage return alone ends the lines, as on Macintosh until 2001 and in some spreadsheets."""
    return "\r" in text and "\n" not in text


def _split(text: str) -> list[str]:
    lines = text.split("\r" if _ends_lines_with_cr(text) else "\n")
    return lines[:-1] if lines[-1] == "" else lines


def clean_line(line: str) -> str:
    """Return a line without byte order mark, carriage returns and NUL.

    Args:
        line: a line without its line end.
    """
    return line.removeprefix("\ufeff").rstrip("\r").replace("\r", " ").replace("\0", " ")
