"""Captions in COCO's JSON format: a list of images and a list of annotations that refer to them."""

import json
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.lines import ReadReport, read_text
from seq2see.data.pairs import Finding, Row


def read_coco(file: Path, reading: ReadReport) -> list[Row]:
    """Read each caption with the name of its image, numbered as in the file.

    Args:
        file: a JSON file with `images` and `annotations`, which may be compressed with gzip.
        reading: collects what is odd, and is told that sources are images and targets are texts.

    Raises:
        DataError: the file has another form, or no caption belongs to an image.
    """
    try:
        names, rows = _parse(file, reading)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "each of `images` needs id and file_name, and each of `annotations` image_id and caption (a text); "
            f"got one without or with another kind of {error}; give the file of captions.",
            file=file,
        ) from None
    lost = [number for number, (image, _) in enumerate(rows, 1) if image not in names]
    if lost:
        message, remedy = "a caption of an image that `images` does not list", "it is skipped"
        reading.findings.append(Finding("warning", message, remedy, file, count=len(lost)))
    if len(lost) == len(rows):
        raise DataError("not one caption belongs to an image that `images` lists; check image_id and id.", file=file)
    reading.images, reading.labels = True, False
    return [(number, names[image], text) for number, (image, text) in enumerate(rows, 1) if image in names]


def _parse(file: Path, reading: ReadReport) -> tuple[dict[int, str], list[tuple[int, str]]]:
    """Return the file name of each image by its id, and the image id and text of each caption."""
    try:
        content = json.loads(read_text(file, reading))
    except (ValueError, RecursionError) as error:
        raise DataError(f"this is not JSON: {error}; fix the file or copy it again.", file=file) from None
    lists = [content.get(name) if isinstance(content, dict) else None for name in ("images", "annotations")]
    if not all(isinstance(each, list) and each for each in lists):
        raise DataError(
            "a .json file must be an array of objects, or COCO's captions, an object with `images` and `annotations`; "
            "one object a line belongs in a .jsonl file.",
            file=file,
        )
    images, annotations = lists
    names = {image["id"]: str(image["file_name"]) for image in images or ()}
    return names, [(note["image_id"], " ".join(note["caption"].split())) for note in annotations or ()]
