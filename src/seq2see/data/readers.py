"""Readers: from a file as people have it to pairs of text, with every oddity named and no pair misaligned."""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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
)
from seq2see.data.folders import find_splits, read_classes
from seq2see.data.idx import is_idx, read_idx_rows
from seq2see.data.lines import Reading, read_lines
from seq2see.data.lines import decode as decode
from seq2see.data.lines import read_bytes as read_bytes
from seq2see.data.lines import split_lines as split_lines
from seq2see.data.pairs import Finding, Origin, Pairs, Row
from seq2see.data.sentences import join_sentences

BLANKS = {
    "the source is blank but the target is not": (False, True),
    "the target is blank but the source is not": (True, False),
    "both sides are blank": (False, False),
}
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
        reading.note(message, "the pair is skipped; fill it in or remove it", file, blank)
    kept = [row for row, has in zip(rows, full, strict=True) if all(has)]
    if not kept:
        raise DataError("there is not one pair with text on both sides; give at least a few.", file=origin.file)
    if not is_idx(origin.file) and not os.path.isdir(origin.file):
        kept = find_pictures(kept, origin.file, reading)
    lines, source, target = zip(*kept, strict=True)
    return Pairs(source, target, lines), reading.findings


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
        return read_idx_rows(origin.file)
    readers: dict[str, Callable[[Origin, Reading], Iterable[Row]]] = {
        ".tsv": _read_tsv,
        ".txt": _read_txt,
        ".token": _read_tsv,
        ".csv": _read_csv,
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
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
    return _read_columns(table, origin, reading, "\t")


def _read_csv(origin: Origin, reading: Reading) -> Iterator[Row]:
    lines = read_lines(origin.file, reading)
    delimiter = _find_delimiter(lines)
    csv.field_size_limit(2**31 - 1)  # a long text is no mistake
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=delimiter, strict=True)
    table, start = [], 1  # quotes may hold line ends: a row is named by its first line
    try:
        for row in reader:
            table.append((start, row))
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"this is not CSV: {error}; check the quotes.", file=origin.file, line=start) from None
    return _read_columns(table, origin, reading, delimiter)


def _find_delimiter(lines: Sequence[str]) -> str:
    """What stands between the columns: spreadsheets write semicolons in half of the world."""
    first = next(line for line in lines if line.strip())
    for delimiter in DELIMITERS:
        try:
            if len(next(csv.reader([first], delimiter=delimiter, strict=True))) > 1:
                return delimiter
        except csv.Error:  # a quote that the next line closes, or another delimiter
            continue
    return ","


def _read_columns(table: Table, origin: Origin, reading: Reading, delimiter: str) -> Iterator[Row]:
    blank = [number for number, row in table if not any(cell.strip() for cell in row)]
    reading.note("a blank line", "it is skipped", origin.file, blank)
    table = [(number, row) for number, row in table if any(cell.strip() for cell in row)]
    named = _find_columns(table, origin, reading) if table else None
    left, right = named or (0, 1)
    width = len(table[0][1]) if named else 2
    for number, row in table[1:] if named else table:
        while len(row) > width and not row[-1].strip():
            row = row[:-1]  # spreadsheets leave empty cells behind
        if not max(left, right) < len(row) <= width:
            raise DataError(_complain(width, len(row), delimiter), file=origin.file, line=number)
        yield number, row[left], row[right]


def _find_columns(table: Table, origin: Origin, reading: Reading) -> tuple[int, int] | None:
    """The positions of the two columns if the first row is a header that names them."""
    number, row = table[0]
    header = [cell.strip() for cell in row]
    if origin.fields is not None:
        left, right = (_find_column(name, header, origin.file, number) for name in origin.fields)
        reading.pictures = origin.fields[0].lower() in PICTURE_NAMES
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
    return found


def _find_column(name: str, header: list[str], file: Path, number: int) -> int:
    if header.count(name) != 1:
        raise DataError(
            f"the header must name one column {name!r}; got {list_names(header)}; mend data.fields.",
            file=file,
            line=number,
        )
    return header.index(name)


def _complain(width: int, got: int, delimiter: str) -> str:
    between = DELIMITERS[delimiter]
    remedy = f"write {between} between source and target" if got < width == 2 else "mend the line"
    if got > width and delimiter != "\t":
        remedy = f"put a text that holds {between} in quotes"
    if got > width == 2:
        remedy += ", or give a header and name two of its columns with data.fields=[SOURCE,TARGET]"
    count = "two" if width == 2 else width
    return f"every line needs {count} columns with {between} between them; got {got}; {remedy}."


def _read_jsonl(origin: Origin, reading: Reading) -> Iterator[Row]:
    fields, torn = origin.fields, []
    for number, line in enumerate(read_lines(origin.file, reading), 1):
        if not line.strip():
            continue
        record = _parse_record(line, origin.file, number)
        fields = fields or _find_fields(record, origin.file, number, reading)
        reading.pictures |= fields[0].lower() in PICTURE_NAMES
        record = _write_texts(record, fields)
        source = _find_text(fields[0], record, origin.file, number)
        for target in _find_texts(fields[1], record, origin.file, number):
            whole = [re.sub("[\ud800-\udfff\0]", "\ufffd", text) for text in (source, target)]
            torn += [number] if whole != [source, target] else []
            yield number, whole[0], whole[1]
    reading.note(
        "half a character (a lone surrogate) or NUL", "it is read as U+FFFD; clean the file", origin.file, torn
    )


def _parse_record(line: str, file: Path, number: int) -> dict[str, Any]:
    """The fields of a line; those of an object inside are named outer.inner."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = getattr(error, "msg", error)
        raise DataError(f"each line must be a JSON object; {message}; mend the line.", file=file, line=number) from None
    if not isinstance(record, dict):
        raise DataError(f"each line must be a JSON object; got {_show(record)}.", file=file, line=number)
    return dict(_flatten(record, ""))


def _flatten(record: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _find_fields(record: dict[str, Any], file: Path, number: int, reading: Reading) -> tuple[str, str]:
    """The two fields, by their usual names or because there are only two texts."""
    pictures = find_picture_fields(record, reading)
    if pictures is not None:
        return pictures
    names = list(record)
    found = find_text_columns(names, [])
    if found is not None:
        return names[found[0]], names[found[1]]
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) == 2:
        note_fields((texts[0], texts[1]), file, number, reading)
        return texts[0], texts[1]
    raise DataError(
        f"it must be clear which fields hold source and target; got {list_names(list(record))}; "
        "name them with data.fields=[SOURCE,TARGET].",
        file=file,
        line=number,
    )


def _write_texts(record: dict[str, Any], fields: tuple[str, str]) -> dict[str, Any]:
    """The record with a source that is a list of sentences, and a target that is a whole number, as texts."""
    source, target = (record.get(name) for name in fields)
    texts = {fields[1]: json.dumps(target)} if isinstance(target, int) else {}
    if isinstance(source, list) and all(isinstance(each, str) for each in source):
        texts[fields[0]] = join_sentences(source)
    return {**record, **texts}


def _find_text(name: str, record: dict[str, Any], file: Path, number: int) -> str:
    if name not in record:
        raise DataError(
            f"there must be a field {name!r}; got {list_names(list(record))}; mend it.", file=file, line=number
        )
    if not isinstance(record[name], str):
        raise DataError(
            f"the field {name!r} must be a text; got {_show(record[name])}; put it in quotes or remove the line.",
            file=file,
            line=number,
        )
    return str(record[name])


def _find_texts(name: str, record: dict[str, Any], file: Path, number: int) -> list[str]:
    """The text of a field, or all texts of its list: a picture has several captions."""
    several = record.get(name)
    if not isinstance(several, list) or not several or not all(isinstance(text, str) for text in several):
        return [_find_text(name, record, file, number)]
    return several


def _show(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
