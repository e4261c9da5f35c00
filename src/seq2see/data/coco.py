"""Captions in COCO's JSON: a list of images and a list of annotations that point to them."""

import json
from pathlib import Path
from typing import Any

from seq2see.core.errors import DataError
from seq2see.data.lines import Reading, decode, read_bytes
from seq2see.data.pairs import Finding, Row


def read_coco(file: Path, reading: Reading) -> list[Row]:
    """Each caption with the name of its picture, numbered as in the file."""
    images, annotations = _parse(file)
    try:
        names = {image["id"]: str(image["file_name"]) for image in images}
        rows = [(note["image_id"], " ".join(note["caption"].split())) for note in annotations]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "each of `images` needs id and file_name, and each of `annotations` image_id and caption (a text); "
            f"got one without or with another kind of {error}; give the file of captions.",
            file=file,
        ) from None
    lost = [number for number, (image, _) in enumerate(rows, 1) if image not in names]
    if lost:
        message, remedy = "a caption of a picture that `images` does not list", "it is skipped"
        reading.findings.append(Finding("warning", message, remedy, file, count=len(lost)))
    if len(lost) == len(rows):
        raise DataError("not one caption belongs to a picture that `images` lists; check image_id and id.", file=file)
    reading.pictures, reading.labels = True, False
    return [(number, names[image], text) for number, (image, text) in enumerate(rows, 1) if image in names]


def _parse(file: Path) -> tuple[list[Any], list[Any]]:
    try:
        content = json.loads(decode(read_bytes(file), file))
    except (ValueError, RecursionError) as error:
        raise DataError(f"this is not JSON: {error}; mend or copy the file again.", file=file) from None
    lists = [content.get(name) if isinstance(content, dict) else None for name in ("images", "annotations")]
    if not all(isinstance(each, list) and each for each in lists):
        raise DataError(
            "a .json file must be COCO's captions, an object with `images` and `annotations`; "
            "one object a line belongs in a .jsonl file.",
            file=file,
        )
    return lists[0] or [], lists[1] or []
