"""Readers: from a file as people have it to pairs of text, with every oddity named and no pair misaligned."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.album import find_pictures
from seq2see.data.coco import read_coco
from seq2see.data.fields import (
    PICTURE_NAMES,
    find_picture_fields,
    find_text_columns,
    list_names,
    names_pictures,
    note_fields,
    resembles_header,
    tell_labels,
)
from seq2see.data.folders import find_splits, read_classes
from seq2see.data.idx import is_idx, read_idx_rows
from seq2see.data.lines import IGNORED, Reading, read_lines
from seq2see.data.lines import decode as decode
from seq2see.data.lines import read_bytes as read_bytes
from seq2see.data.lines import split_lines as split_lines
from seq2see.data.pairs import Finding, Origin, Pairs, Row
from seq2see.data.records import read_records

BLANKS = {
    "the source is blank but the target is not": (False, True),
    "the target is blank but the source is not": (True, False),
    "both sides are blank": (False, False),
}
BROKEN = re.compile("[\ud800-\udfff]")
LOOKED_AT = 100  # rows by which the delimiter is found
QUOTED = re.compile(r'"(?:[^"]|"")*"')
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}

Table = list[tuple[int, list[str]]]  # line and cells of each row


def read_pairs(origin: Origin) -> tuple[Pairs, list[Finding]]:
    """All usable pairs of an origin, and what was found on the way; what cannot be used at all is an error."""
    reading, origin = Reading(), _enter(origin)
    rows = list(_read_rows(origin, reading))
    full = [(bool(source.strip()), bool(target.strip())) for _, source, target in rows]
    for message, pattern in BLANKS.items():
        blank = [row[0] for row, has in zip(rows, full, strict=True) if has == pattern]
        file = origin.holding("target" if pattern == (True, False) else "source")
        first = blank[0] if blank and origin.has_lines else None
        found = Finding("warning", message, "the pair is skipped; fill it in or remove it", file, first, len(blank))
        reading.findings += [found] if blank else []
    kept = [row for row, has in zip(rows, full, strict=True) if all(has)]
    if not kept:
        raise DataError("there is not one pair with text on both sides; give at least a few.", file=origin.file)
    if not is_idx(origin.file) and not os.path.isdir(origin.file):
        kept = find_pictures(kept, origin.file, reading)
    _need_unicode(kept, origin)
    lines, source, target = zip(*kept, strict=True)
    return Pairs(source, target, lines, labels=reading.labels, separator=reading.separator), reading.findings


def _need_unicode(rows: Sequence[Row], origin: Origin) -> None:
    """Refuse names of files and folders that are not UTF-8, which Python reads with halves of characters in them."""
    for _, source, target in rows:
        if BROKEN.search(source) or BROKEN.search(target):
            name = os.fsencode(source if BROKEN.search(source) else target)
            raise DataError(f"names of files and folders must be UTF-8; got {name!r}; rename it.", file=origin.file)


def _enter(origin: Origin) -> Origin:
    """The one data file of a folder, or the folder itself if it holds classes; several splits must be told apart."""
    if origin.target_file is not None or not os.path.isdir(origin.file):
        return origin
    splits = find_splits(origin.file)
    if len(splits) > 1:
        parts = ", ".join(f"{part.name} ({split})" for split, part in splits.items())
        raise DataError(f"this folder holds {parts}; name one of them.", file=origin.file)
    (part,) = splits.values()
    return origin if part == origin.file else _enter(replace(origin, file=part))


def _read_rows(origin: Origin, reading: Reading) -> Iterable[Row]:
    if origin.target_file is not None:
        return _read_parallel(origin.file, origin.target_file, reading)
    if os.path.isdir(origin.file):
        return read_classes(origin.file, reading)
    if is_idx(origin.file):
        reading.labels = True
        return read_idx_rows(origin.file)
    readers: dict[str, Callable[[Origin, Reading], Iterable[Row]]] = {
        ".tsv": _read_tsv,
        ".txt": _read_txt,
        ".token": _read_tsv,
        ".csv": _read_csv,
        ".jsonl": read_records,
        ".ndjson": read_records,
        ".json": lambda origin, reading: read_coco(origin.file, reading),
    }
    endings = [suffix.lower() for suffix in origin.file.suffixes if suffix.lower() != ".gz"]
    if not endings or endings[-1] not in readers:
        read_bytes(origin.file)  # a missing file is the better message
        raise DataError(
            f"a file with both sides ends in {', '.join(readers)} (or .gz behind it); rename or convert it, or give "
            "a source and a target file whose lines belong together.",
            file=origin.file,
        )
    return readers[endings[-1]](origin, reading)


def _read_parallel(source: Path, target: Path, reading: Reading) -> Iterator[Row]:
    left, right = read_lines(source, reading), read_lines(target, reading)
    for file, mine, others in ((source, left, right), (target, right, left)):
        rest = range(len(others), len(mine))
        if not any(mine[number].strip() for number in rest):
            reading.note("a blank line behind the last one", IGNORED, file, [number + 1 for number in rest], "note")
            del mine[len(others) :]
    if len(left) != len(right):
        raise DataError(
            f"parallel files must have as many lines each; got {len(left)} in {source} and {len(right)} in {target}; "
            f"the pairing is lost at or before line {min(len(left), len(right)) + 1}: find the line that is missing."
        )
    return ((number, *pair) for number, pair in enumerate(zip(left, right, strict=True), 1))


def _read_txt(origin: Origin, reading: Reading) -> Iterator[Row]:
    """Columns between tabs, or between commas if a header of pictures and captions says so, as Kaggle's does."""
    first = next((line for line in read_lines(origin.file, Reading()) if line.strip()), "")
    return (_read_csv if names_pictures(first.split(",")) else _read_tsv)(origin, reading)


def _read_tsv(origin: Origin, reading: Reading) -> Iterator[Row]:
    table = [(number, line.split("\t")) for number, line in enumerate(read_lines(origin.file, reading), 1)]
    return _read_columns(_unquote(table, origin, reading), origin, reading, "\t")


def _unquote(table: Table, origin: Origin, reading: Reading) -> Table:
    """The table without the quotes of a spreadsheet, which doubles those inside; other quotes are part of a text."""
    quoted = [(number, cell) for number, row in table for cell in row if cell.startswith('"')]
    if not all(QUOTED.fullmatch(cell) for _, cell in quoted) or not any('""' in cell[1:-1] for _, cell in quoted):
        return table
    lines = list(dict.fromkeys(number for number, _ in quoted))
    reading.note("cells in quotes, as spreadsheets write them", "the quotes are taken off", origin.file, lines)
    return [
        (number, [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in row])
        for number, row in table
    ]


def _read_csv(origin: Origin, reading: Reading) -> Iterator[Row]:
    lines = read_lines(origin.file, reading)
    told = re.fullmatch("sep=([,;|\t])", lines[0])  # as Excel writes it
    delimiter = told[1] if told else _find_delimiter(lines, origin, reading)
    csv.field_size_limit(2**31 - 1)  # a long text is no mistake
    skipped = 1 if told else 0
    reader = csv.reader(io.StringIO("\n".join(lines[skipped:]), newline=""), delimiter=delimiter, strict=True)
    table, start = [], 1 + skipped  # quotes may hold line ends: a row is named by its first line
    try:
        for row in reader:
            table.append((start, row))
            start = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise DataError(f"this is not CSV: {error}; check the quotes.", file=origin.file, line=start) from None
    return _read_columns(table, origin, reading, delimiter)


def _find_delimiter(lines: Sequence[str], origin: Origin, reading: Reading) -> str:
    """What stands between the columns: spreadsheets write semicolons in half of the world.

    It is what gives all of the first rows as many columns; if nothing does, what gives the first row several.
    """
    counts = {delimiter: _count_columns(lines, delimiter) for delimiter in DELIMITERS}
    several = [delimiter for delimiter, found in counts.items() if found and found[0] > 1]
    even = [delimiter for delimiter in several if len(set(counts[delimiter])) == 1]
    if len(even) > 1:
        message = f"columns are cut at {DELIMITERS[even[0]]}, and {DELIMITERS[even[1]]} would fit as well"
        reading.note(message, f"if it is the latter, put sep={even[1]} into a line of its own above", origin.file, [1])
    return (*even, *several, ",")[0]


def _count_columns(lines: Sequence[str], delimiter: str) -> list[int]:
    """The columns of the first rows, as far as they can be read with this delimiter."""
    counts: list[int] = []
    with suppress(csv.Error):  # a quote that ends elsewhere, with another delimiter
        for row in islice(csv.reader(lines, delimiter=delimiter, strict=True), LOOKED_AT):
            counts += [len(row)] if any(cell.strip() for cell in row) else []
    return counts


def _read_columns(table: Table, origin: Origin, reading: Reading, delimiter: str) -> Iterator[Row]:
    blank = [number for number, row in table if not any(cell.strip() for cell in row)]
    reading.note("a blank line", "it is skipped", origin.file, blank)
    table = [(number, row) for number, row in table if any(cell.strip() for cell in row)]
    numbered = _find_numbered(table, origin) if table else None
    named = _find_columns(table, origin, reading) if table and numbered is None else None
    left, right = numbered or named or (0, 1)
    header = table[0][1] if numbered or named else ["", ""]
    for number, row in table[1:] if named else table:
        while len(row) > len(header) and not row[-1].strip():
            row = row[:-1]  # spreadsheets leave empty cells behind
        if not max(left, right) < len(row) <= len(header):
            raise DataError(_complain(len(header), row, delimiter), file=origin.file, line=number)
        yield number, row[left], row[right]


def _find_numbered(table: Table, origin: Origin) -> tuple[int, int] | None:
    """The positions of the two columns if they are given as numbers, counted from 1, for want of a header."""
    number, row = table[0]
    if origin.fields is None or not all(name.isdecimal() for name in origin.fields) or set(origin.fields) <= set(row):
        return None
    left, right = (int(name) for name in origin.fields)
    if not (1 <= left <= len(row) and 1 <= right <= len(row)):
        raise DataError(
            f"columns are counted from 1, and here are {len(row)}; got {left} and {right}; mend --fields.",
            file=origin.file,
            line=number,
        )
    return left - 1, right - 1


def _find_columns(table: Table, origin: Origin, reading: Reading) -> tuple[int, int] | None:
    """The positions of the two columns if the first row is a header that names them."""
    number, row = table[0]
    header = [cell.strip() for cell in row]
    while header and not header[-1]:
        header = header[:-1]
    if origin.fields is not None:
        left, right = (_find_column(name, header, origin.file, number) for name in origin.fields)
        reading.pictures = origin.fields[0].lower() in PICTURE_NAMES
        reading.labels = tell_labels(origin.fields[1], reading)
        return left, right
    below = dict(zip(header, table[1][1], strict=False)) if len(table) > 1 else {}
    fields = find_picture_fields(below, reading)
    found = (
        find_text_columns(header, [row for _, row in table[1:]])
        if fields is None
        else (header.index(fields[0]), header.index(fields[1]))
    )
    if found is not None:
        note_fields((header[found[0]], header[found[1]]), origin.file, number, reading)
        reading.labels = tell_labels(header[found[1]], reading)
    elif resembles_header(header, [row for _, row in table[1:]]):
        message = f"this looks like a header ({', '.join(header)}), and is read as a pair"
        remedy = f"if it is one, leave it out with --fields {','.join(header)}"
        reading.note(message, remedy, origin.file, [number], level="note")
    return found


def _find_column(name: str, header: list[str], file: Path, number: int) -> int:
    if header.count(name) != 1:
        raise DataError(
            f"the header must name one column {name!r}; got {list_names(header)}; mend --fields.",
            file=file,
            line=number,
        )
    return header.index(name)


def _complain(width: int, row: list[str], delimiter: str) -> str:
    between, got = DELIMITERS[delimiter], len(row)
    remedy = f"write {between} between source and target" if got < width == 2 else "mend the line"
    if got > width and delimiter != "\t":
        remedy = f"put a text that holds {between} in quotes"
    if got > width == 2:
        remedy += (
            f", or choose two of the columns ({list_names(row)}) with --fields SOURCE,TARGET: the names that a "
            "header gives them, or without one their numbers"
        )
    count = "two" if width == 2 else width
    return f"every line needs {count} columns with {between} between them; got {got}; {remedy}."
