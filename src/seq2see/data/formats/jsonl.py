"""JSON lines, one object a line, and JSON arrays of objects; each has a source and one or several targets."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.data.formats.headers import (
    IMAGE_NAMES,
    find_image_fields,
    find_text_columns,
    list_names,
    note_fields,
    tell_labels,
)
from seq2see.data.formats.lines import ReadReport, read_lines, read_text
from seq2see.data.formats.parquet import read_objects
from seq2see.data.pairs import Origin, Row
from seq2see.data.sentence_splitter import join_sentences

LABEL_SEPARATOR = "|"  # between the labels of one source

Record = dict[str, JsonValue]
Nested = dict[str, Any]  # an object as it is in the file, with objects in it
Place = tuple[Path | str, int | None]  # of a record: the file and the line, or the file with the number of the object


def read_records(origin: Origin, reading: ReadReport) -> Iterator[Row]:
    """Read source and target of every object; a list of captions gives a row for each.

    Args:
        origin: a file with one JSON object a line, or with an array of them, and its two fields, if they are named.
        reading: collects what is odd, and is told whether sources are images and targets are labels.

    Yields:
        The line or the number of the object, counted from 1, the source and the target of each pair.

    Raises:
        DataError: a line or an object of the array is no JSON object, or has no such fields.
    """
    fields, torn = origin.fields, []
    for number, found in list_objects(origin.file, reading):
        place = place_record(origin.file, number, reading)
        record = dict(flatten(found))
        fields = fields or _find_fields(record, origin.file, number, reading)
        reading.images |= fields[0].lower() in IMAGE_NAMES
        reading.labels = tell_labels(fields[1], reading)
        record = _write_texts(record, fields)
        source = _find_text(fields[0], record, place)
        for target in _find_texts(fields[1], record, place, reading):
            whole = [re.sub("[\ud800-\udfff\0]", "\ufffd", text) for text in (source, target)]
            torn += [number] if whole != [source, target] else []
            yield number, whole[0], whole[1]
    reading.note(
        "half a character (a lone surrogate) or NUL", "it is read as U+FFFD; clean the file", origin.file, torn
    )


def list_objects(file: Path, reading: ReadReport) -> Iterator[tuple[int, Nested]]:
    """Read the objects of JSON lines, of an array in a `.json` file, or the rows of a `.parquet` file.

    Args:
        file: the file.
        reading: collects what is odd, and is told if records are no lines.

    Yields:
        The line, or the number of the object, counted from 1, and the object.

    Raises:
        DataError: a line or an object of the array is no JSON object.
    """
    endings = {suffix.lower() for suffix in file.suffixes}
    reading.lined = not endings & {".json", ".parquet"}
    if ".parquet" in endings:
        return read_objects(file)
    if ".json" in endings:
        return parse_array(read_text(file, reading), file)
    return parse_lines(read_lines(file, reading), file)


def parse_lines(lines: Iterable[str], file: Path) -> Iterator[tuple[int, Nested]]:
    """Read one JSON object from each line that is not blank.

    Args:
        lines: the lines of a file.
        file: the file, for errors.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = f"each line must be a JSON object; {getattr(error, 'msg', error)}; fix the line."
            raise DataError(problem, file=file, line=number) from None
        if not isinstance(record, dict):
            raise DataError(f"each line must be a JSON object; got {_show(record)}.", file=file, line=number)
        yield number, record


def parse_array(text: str, file: Path) -> Iterator[tuple[int, Nested]]:
    """Read the objects of a JSON array.

    Args:
        text: the content of a file.
        file: the file, for errors.
    """
    try:
        records = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"this is not JSON: {error}; fix the file or copy it again.", file=file) from None
    if not isinstance(records, list) or not records:
        raise DataError(f"a JSON array of objects must be there; got {_show(records)}.", file=file)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(f"object {number} of the array must be a JSON object; got {_show(record)}.", file=file)
        yield number, record


def place_record(file: Path, number: int, reading: ReadReport) -> Place:
    """Return where a record is, for errors.

    Args:
        file: its file.
        number: its line, or its number in an array.
        reading: says whether records are lines.
    """
    return (file, number) if reading.lined else (f"{file}, object {number}", None)


def flatten(record: Nested, prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    """List the fields of an object; those of an object inside it are named outer.inner.

    Args:
        record: the object.
        prefix: what names begin with.
    """
    for name, value in record.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _find_fields(record: Record, file: Path, number: int, reading: ReadReport) -> tuple[str, str]:
    """Find the two fields by their usual names, or because there are only two texts."""
    images = find_image_fields(record, reading)
    if images is not None:
        return images
    names = list(record)
    found = find_text_columns(names, [])
    if found is not None:
        return names[found[0]], names[found[1]]
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) == 2:
        note_fields((texts[0], texts[1]), file, number, reading)
        return texts[0], texts[1]
    place = place_record(file, number, reading)
    raise DataError(
        f"it must be clear which fields hold source and target; got {list_names(list(record))}; "
        "name them with --fields SOURCE,TARGET.",
        file=place[0],
        line=place[1],
    )


def _write_texts(record: Record, fields: tuple[str, str]) -> Record:
    """Write numbers, null, and a source that is a list of sentences as texts."""
    texts = {name: _write(record[name]) for name in fields if name in record}
    source = record.get(fields[0])
    sentences = _take_texts(source)
    if sentences is not None:
        texts[fields[0]] = join_sentences(sentences)
    return {**record, **texts}


def _take_texts(value: JsonValue) -> list[str] | None:
    """Return a list of texts, or None if the value is something else."""
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return texts if isinstance(value, list) and len(texts) == len(value) else None


def _write(value: JsonValue) -> JsonValue:
    """Write a number as text, and null as an empty text, which is reported and skipped."""
    number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return "" if value is None else json.dumps(value) if number else value


def _find_text(name: str, record: Record, place: Place) -> str:
    if name not in record:
        raise DataError(
            f"there must be a field {shorten(name)}; got {list_names(list(record))}; fix it.",
            file=place[0],
            line=place[1],
        )
    if not isinstance(record[name], str):
        raise DataError(
            f"the field {shorten(name)} must be a text; got {_show(record[name])}; put it in quotes or remove it.",
            file=place[0],
            line=place[1],
        )
    return str(record[name])


def _find_texts(name: str, record: Record, place: Place, reading: ReadReport) -> list[str]:
    """Return the text of a field, or all texts of its list: an image has several captions; labels are one target."""
    labels = reading.labels is True
    several = record.get(name)
    if several == []:
        return [""]  # which is reported and skipped
    if isinstance(several, list) and labels:
        several = [_write(label) for label in several]  # labels may be numbers
    texts = _take_texts(several)
    if not texts:
        return [_find_text(name, record, place)]
    return [_join_labels(texts, place, reading)] if labels else texts


def _join_labels(labels: list[str], place: Place, reading: ReadReport) -> str:
    """Join the labels of one source into one target; the first source with several sets the separator."""
    torn = next((label for label in labels if LABEL_SEPARATOR in label), None)
    if torn is not None:
        raise DataError(
            f"a label in a list cannot have {LABEL_SEPARATOR}, which separates labels; got {shorten(torn)}; "
            "replace it.",
            file=place[0],
            line=place[1],
        )
    reading.separator = LABEL_SEPARATOR if len(labels) > 1 else reading.separator
    return LABEL_SEPARATOR.join(labels)


def _show(value: JsonValue) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
