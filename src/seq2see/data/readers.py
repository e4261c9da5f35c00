"""Readers: from a file as people have it to pairs of text, with every oddity named and no pair misaligned."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from seq2see.core.errors import DataError
from seq2see.data.pairs import Finding, Origin, Pairs

SOURCE_NAMES = ("source", "src", "input", "text", "question", "en", "from", "x", "written", "word")
TARGET_NAMES = ("target", "tgt", "output", "label", "answer", "to", "y", "reference", "trg", "iso", "pronunciation")

BLANKS = {
    "the source is blank but the target is not": (False, True),
    "the target is blank but the source is not": (True, False),
    "both sides are blank": (False, False),
}

Row = tuple[int, str, str]  # line, source, target


class Reading:
    """The rows of one origin and what was odd about them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def note(self, message: str, remedy: str, file: Path, lines: list[int]) -> None:
        """One warning for all lines that share a fault."""
        if lines:
            self.findings.append(Finding("warning", message, remedy, file, lines[0], len(lines)))


def read_pairs(origin: Origin) -> tuple[Pairs, list[Finding]]:
    """All usable pairs of an origin, and what was found on the way; what cannot be used at all is an error."""
    reading = Reading()
    rows = list(_read_rows(origin, reading))
    full = [(bool(source.strip()), bool(target.strip())) for _, source, target in rows]
    for message, pattern in BLANKS.items():
        blank = [row[0] for row, has in zip(rows, full, strict=True) if has == pattern]
        reading.note(message, "the pair is skipped; fill it in or remove it", origin.file, blank)
    kept = [row for row, has in zip(rows, full, strict=True) if all(has)]
    if not kept:
        raise DataError("there is not one pair with text on both sides; give at least a few.", file=origin.file)
    lines, source, target = zip(*kept, strict=True)
    return Pairs(source, target, lines), reading.findings


def read_lines(file: Path, reading: Reading | None = None) -> list[str]:
    """The lines of a UTF-8 text file; only a line feed ends a line, so that U+2028 and its like cannot shift pairs."""
    reading = reading or Reading()
    text = decode(read_bytes(file), file)
    if text.startswith("\ufeff"):
        text = text[1:]
        reading.note("a byte order mark (BOM) stands before the first character", "it is ignored", file, [1])
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    crlf = [number for number, line in enumerate(lines, 1) if line.endswith("\r")]
    reading.note("Windows line ends (CRLF)", "the carriage return is ignored", file, crlf)
    nul = [number for number, line in enumerate(lines, 1) if "\0" in line]
    reading.note("a NUL character", "it is read as a space; clean the file", file, nul)
    return [line.removesuffix("\r").replace("\0", " ") for line in lines]


def split_lines(text: str) -> list[str]:
    """The lines of a text as people count them, without byte order mark and carriage returns."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_bytes(file: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz."""
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file; check the path.", file=file) from None
    except IsADirectoryError:
        raise DataError("this is a folder; give a file.", file=file) from None
    except (OSError, EOFError) as error:
        raise DataError(f"the file cannot be read: {error}.", file=file) from error
    if not data.strip():
        raise DataError("the file is empty; give at least a few pairs.", file=file)
    return data


def decode(data: bytes, file: Path | str) -> str:
    """UTF-8 text, or an error that names the line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = " ".join(f"{byte:02x}" for byte in data[error.start : error.end])
        raise DataError(
            f"text must be UTF-8; got the bytes {bad}; save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 may help).",
            file=file,
            line=line,
        ) from None


def _read_rows(origin: Origin, reading: Reading) -> Iterable[Row]:
    if origin.target_file is not None:
        return _read_parallel(origin.file, origin.target_file, reading)
    suffixes = [suffix for suffix in origin.file.suffixes if suffix != ".gz"]
    readers: dict[str, Callable[[Origin, Reading], Iterator[Row]]] = {
        ".tsv": _read_tsv,
        ".txt": _read_tsv,
        ".csv": _read_csv,
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
    }
    suffix = suffixes[-1].lower() if suffixes else ""
    if suffix not in readers:
        read_bytes(origin.file)  # a missing or empty file is the better message
        raise DataError(f"a data file ends in {', '.join(readers)} (or .gz behind it); rename it.", file=origin.file)
    return readers[suffix](origin, reading)


def _read_parallel(source: Path, target: Path, reading: Reading) -> Iterator[Row]:
    left, right = read_lines(source, reading), read_lines(target, reading)
    if len(left) != len(right):
        raise DataError(
            f"parallel files must have as many lines each; got {len(left)} in {source} and {len(right)} in {target}; "
            f"the pairing is lost at or before line {min(len(left), len(right)) + 1}."
        )
    return ((number, *pair) for number, pair in enumerate(zip(left, right, strict=True), 1))


def _read_tsv(origin: Origin, reading: Reading) -> Iterator[Row]:
    rows = [(number, line.split("\t")) for number, line in enumerate(read_lines(origin.file, reading), 1)]
    return _read_columns(rows, origin, reading, "a tab")


def _read_csv(origin: Origin, reading: Reading) -> Iterator[Row]:
    text = "\n".join(read_lines(origin.file, reading))
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(table.line_num, row) for row in table]
    except csv.Error as error:
        raise DataError(f"this is not CSV: {error}; check the quotes.", file=origin.file, line=table.line_num) from None
    return _read_columns(rows, origin, reading, "a comma")


def _read_columns(rows: list[tuple[int, list[str]]], origin: Origin, reading: Reading, between: str) -> Iterator[Row]:
    file = origin.file
    left, right, rows = _find_columns(rows, origin, between)
    width = max(left, right) + 1
    blank = [number for number, row in rows if not any(cell.strip() for cell in row)]
    reading.note("a blank line", "it is skipped", file, blank)
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < width or (origin.fields is None and len(row) > 2):
            raise DataError(
                f"every line needs two columns with {between} between them; got {len(row)}; "
                + ("mend the line." if len(row) < width else "name the two to use with data.fields=[SOURCE,TARGET]."),
                file=file,
                line=number,
            )
        yield number, row[left], row[right]


def _find_columns(
    rows: list[tuple[int, list[str]]], origin: Origin, between: str
) -> tuple[int, int, list[tuple[int, list[str]]]]:
    """The positions of the two columns, and the rows below the header if there is one."""
    header = [cell.strip() for cell in rows[0][1]]
    if origin.fields is not None:
        missing = [name for name in origin.fields if name not in header]
        if missing:
            raise DataError(
                f"there is no column {missing[0]!r}; the header says {', '.join(header)}.", file=origin.file
            )
        return header.index(origin.fields[0]), header.index(origin.fields[1]), rows[1:]
    lowered = [cell.lower() for cell in header]
    is_header = len(lowered) == 2 and lowered[0] in SOURCE_NAMES and lowered[1] in TARGET_NAMES
    return 0, 1, rows[1:] if is_header else rows


def _read_jsonl(origin: Origin, reading: Reading) -> Iterator[Row]:
    fields = origin.fields
    for number, line in enumerate(read_lines(origin.file, reading), 1):
        if not line.strip():
            continue
        record = _parse_record(line, origin.file, number)
        fields = fields or _find_fields(record, origin.file, number)
        missing = [name for name in fields if not isinstance(record.get(name), str)]
        if missing:
            raise DataError(
                f"the field {missing[0]!r} must be a text; got {record.get(missing[0])!r}.",
                file=origin.file,
                line=number,
            )
        yield number, record[fields[0]], record[fields[1]]


def _parse_record(line: str, file: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"each line must be a JSON object; {error.msg}.", file=file, line=number) from None
    if not isinstance(record, dict):
        raise DataError(f"each line must be a JSON object; got {type(record).__name__}.", file=file, line=number)
    return record


def _find_fields(record: dict[str, Any], file: Path, number: int) -> tuple[str, str]:
    """The two text fields, by their usual names or because there are only two."""
    texts = [name for name, value in record.items() if isinstance(value, str)]
    source = [name for name in texts if name.lower() in SOURCE_NAMES]
    target = [name for name in texts if name.lower() in TARGET_NAMES]
    if len(source) == 1 and len(target) == 1:
        return source[0], target[0]
    if len(texts) == 2:
        return texts[0], texts[1]
    raise DataError(
        f"it is not clear which fields hold source and target among {', '.join(record) or 'none'}; "
        "name them with data.fields=[SOURCE,TARGET].",
        file=file,
        line=number,
    )
