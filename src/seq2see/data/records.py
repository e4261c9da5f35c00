"""Records: one JSON object a line, with a text or several, and numbers that stand for texts."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seq2see.core.errors import DataError
from seq2see.data.fields import (
    PICTURE_NAMES,
    find_picture_fields,
    find_text_columns,
    list_names,
    note_fields,
    tell_labels,
)
from seq2see.data.lines import Reading, read_lines
from seq2see.data.pairs import Origin, Row
from seq2see.data.sentences import join_sentences

BETWEEN = "|"  # labels of one source


def read_records(origin: Origin, reading: Reading) -> Iterator[Row]:
    """Source and target of every line; a list of captions gives a row for each."""
    fields, torn = origin.fields, []
    for number, line in enumerate(read_lines(origin.file, reading), 1):
        if not line.strip():
            continue
        record = _parse_record(line, origin.file, number)
        fields = fields or _find_fields(record, origin.file, number, reading)
        reading.pictures |= fields[0].lower() in PICTURE_NAMES
        reading.labels = tell_labels(fields[1], reading)
        record = _write_texts(record, fields)
        source = _find_text(fields[0], record, origin.file, number)
        for target in _find_texts(fields[1], record, origin.file, number, reading):
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
        "name them with --fields SOURCE,TARGET.",
        file=file,
        line=number,
    )


def _write_texts(record: dict[str, Any], fields: tuple[str, str]) -> dict[str, Any]:
    """The record with numbers, nothing at all, and a source that is a list of sentences as texts."""
    texts = {name: _write(record[name]) for name in fields if name in record}
    source = record.get(fields[0])
    if isinstance(source, list) and all(isinstance(each, str) for each in source):
        texts[fields[0]] = join_sentences(source)
    return {**record, **texts}


def _write(value: Any) -> Any:
    """A number as it is written, and null as a blank, which is named and skipped."""
    number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return "" if value is None else json.dumps(value) if number else value


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


def _find_texts(name: str, record: dict[str, Any], file: Path, number: int, reading: Reading) -> list[str]:
    """The text of a field, or all texts of its list: a picture has several captions; labels are one target."""
    labels = reading.labels is True
    several = record.get(name)
    if several == []:
        return [""]  # which is named and skipped
    if isinstance(several, list) and labels:
        several = [_write(label) for label in several]  # labels may be numbers
    if not isinstance(several, list) or not several or not all(isinstance(text, str) for text in several):
        return [_find_text(name, record, file, number)]
    return [_join_labels(several, file, number, reading)] if labels else several


def _join_labels(labels: list[str], file: Path, number: int, reading: Reading) -> str:
    """The labels of one source as one target; a list says that there may be several, as soon as one has them."""
    torn = next((label for label in labels if BETWEEN in label), None)
    if torn is not None:
        raise DataError(
            f"a label in a list cannot hold {BETWEEN}, which separates labels; got {torn!r}; write another sign.",
            file=file,
            line=number,
        )
    reading.separator = BETWEEN if len(labels) > 1 else reading.separator
    return BETWEEN.join(labels)


def _show(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
