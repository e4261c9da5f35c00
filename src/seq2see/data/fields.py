"""The fields and columns people give their data, by the names they use for them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seq2see.data.album import ENDINGS
from seq2see.data.lines import Reading

SOURCE_NAMES = ("source", "src", "input", "text", "question", "en", "from", "x", "written", "word")
TARGET_NAMES = ("target", "tgt", "output", "label", "answer", "to", "y", "reference", "trg", "iso", "pronunciation")
PICTURE_NAMES = ("image", "picture", "photo", "img", "image_name", "image_path")
FILE_NAMES = ("file", "filename", "file_name", "path")  # of a picture, if the first one looks like one
CAPTION_NAMES = ("captions", "caption", "sentences", "sentence", "description", "comment", "text")
LABEL_NAMES = ("label", "class", "category")


def find_picture_fields(record: Mapping[str, Any], reading: Reading) -> tuple[str, str] | None:
    """The fields of a picture and of its captions, or else its label, by their usual names."""
    names = {name.lower(): name for name in record}
    target = next((names[name] for name in (*CAPTION_NAMES, *LABEL_NAMES) if name in names), None)
    source = next((names[name] for name in PICTURE_NAMES if name in names), None)
    for name in FILE_NAMES if source is None else ():
        if name in names and str(record[names[name]]).strip().lower().endswith(ENDINGS):
            source = names[name]
    if source is None or target is None:
        return None
    reading.pictures = True
    return source, target


def names_pictures(header: Sequence[str]) -> bool:
    """Whether a header begins with a picture and names its captions or its label."""
    names = [name.strip().lower() for name in header]
    return names[0] in PICTURE_NAMES and not {*CAPTION_NAMES, *LABEL_NAMES}.isdisjoint(names)


def note_fields(fields: tuple[str, str], file: Path, number: int, reading: Reading) -> None:
    """Say which fields were taken."""
    message = f"source is taken from {fields[0]!r} and target from {fields[1]!r}"
    reading.note(message, "name others with data.fields=[SOURCE,TARGET]", file, [number], level="note")


def list_names(names: Sequence[str]) -> str:
    """Names for a message, as many as one can read."""
    shown = [repr(name)[:40] for name in names[:8]]
    return ", ".join([*shown, "..."] if len(names) > 8 else shown) or "none"
