"""The images that a data file names: where they are, and which are missing."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.data.formats.idx import split_place
from seq2see.data.formats.lines import ReadReport
from seq2see.data.pairs import Finding, Origin, Row

IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
# Flickr's lists number the captions of an image: 1000268201_693b08cb0e.jpg#0
NUMBERED_CAPTION = re.compile(rf"(.*(?:{'|'.join(map(re.escape, IMAGE_ENDINGS))})\S*)#\d+", re.IGNORECASE)
IMAGE_FOLDERS = (
    *("images", "Images", "image", "imgs", "img", "pictures", "photos", "Flicker8k_Dataset", "Flickr8k_Dataset"),
    *("flickr30k-images", "flickr30k_images", "train2014", "val2014", "train2017", "val2017"),
)
MIN_IMAGE_SHARE = 0.9  # of sources that must look like images, if nothing else says that they are
MAX_PROBED_IMAGES = 50  # by which the right folder is found


def is_image(source: str) -> bool:
    """Tell whether a source is an image: the absolute path of a file, or a place in an idx file.

    Args:
        source: a source; a path with the ending of an image counts even if there is no such file.
    """
    if not os.path.isabs(source):
        return False
    return source.lower().endswith(IMAGE_ENDINGS) or split_place(source) is not None or os.path.isfile(source)


def find_images(rows: list[Row], file: Path, reading: ReadReport) -> list[Row]:
    """Replace names of images by absolute paths, and drop rows of missing images; other rows stay as they are.

    Args:
        rows: line, source and target of each pair.
        file: the data file, beside which or in whose folders the images are.
        reading: says whether the file names images, and collects which are missing.

    Raises:
        DataError: the file certainly names images, and not one of them is there.
    """
    names = [_name_image(source) for _, source, _ in rows]
    if not reading.images and sum(name is not None for name in names) < MIN_IMAGE_SHARE * len(rows):
        return rows
    numbered = any(NUMBERED_CAPTION.fullmatch(source.strip()) for _, source, _ in rows[:1])
    reading.labels = False if numbered else reading.labels
    certain = reading.images or numbered
    named = [(name or source).replace("\\", "/") for name, (_, source, _) in zip(names, rows, strict=True)]
    distinct = list(dict.fromkeys(named))
    folder, tried = _find_folder(file.absolute().parent, distinct)
    paths = {name: os.path.abspath(folder / name) for name in distinct}
    missing = {name for name, path in paths.items() if not os.path.isfile(path)}
    if len(missing) == len(distinct):
        return _report_none_found(rows, file, reading, certain, distinct[0], tried)
    lost = [line for name, (line, _, _) in zip(named, rows, strict=True) if name in missing]
    _note_missing([name for name in distinct if name in missing], lost, file, folder, reading)
    kept = [(name, row) for name, row in zip(named, rows, strict=True) if name not in missing]
    return [(line, paths[name], target) for name, (line, _, target) in kept]


def resolve_images(sources: Sequence[str], file: Path) -> list[str]:
    """Return the absolute paths of images that a table names; a blank cell stays blank.

    Args:
        sources: the cells of a column; images are beside the file, or in folders such as `images`.
        file: the table.
    """
    named = [(_name_image(source) or source.strip()).replace("\\", "/") for source in sources]
    folder, _ = _find_folder(file.absolute().parent, list(dict.fromkeys(name for name in named if name)))
    return [os.path.abspath(folder / name) if name else "" for name in named]


def list_some(names: Iterable[str], most: int = 3) -> str:
    """Return the first few names in quotes, for a message.

    Args:
        names: all names.
        most: the largest number of names to show; `...` stands for the others.
    """
    shown = [repr(str(name))[:200] for name in names]
    return ", ".join([*shown[:most], "..."] if len(shown) > most else shown)


def _name_image(source: str) -> str | None:
    """Return the name of the image if a source looks like one."""
    match = NUMBERED_CAPTION.fullmatch(source.strip()) if "#" in source else None
    if match is not None:
        return match[1]
    name = source.strip()
    return name if name.lower().endswith(IMAGE_ENDINGS) and "\n" not in name and len(name) < 1000 else None


def _find_folder(home: Path, names: Sequence[str]) -> tuple[Path, list[Path]]:
    """Return the folder with most of the images, beside the file or one up, and all folders that were searched."""
    known = [place / name for place in (home, home.parent) for name in IMAGE_FOLDERS]
    tried = [home, *(folder for folder in known if folder.is_dir())]
    some = names[:: max(len(names) // MAX_PROBED_IMAGES, 1)]
    return max(tried, key=lambda folder: sum(os.path.isfile(folder / name) for name in some)), tried


def _report_none_found(
    rows: list[Row], file: Path, reading: ReadReport, certain: bool, name: str, tried: list[Path]
) -> list[Row]:
    if certain:
        raise DataError(
            f"not one of its images is there, neither {shorten(name)} nor the others; put them beside the file or into "
            f"images/ (searched {', '.join(map(str, tried))}).",
            file=file,
        )
    message = f"the sources look like images, such as {shorten(name)}, but not one of them is there"
    remedy = "they are read as texts; if they are images, put them beside the file or into images/"
    reading.findings.append(Finding("warning", message, remedy, file))
    return rows


def _note_missing(missing: list[str], lines: list[int], file: Path, folder: Path, reading: ReadReport) -> None:
    if missing:
        message = f"an image is not there: {list_some(missing)} of {folder}"
        remedy = f"its pairs are skipped ({len(lines):,} in all); add it or remove them"
        first = lines[0] if Origin(file).has_lines else None
        reading.findings.append(Finding("warning", message, remedy, file, first, len(missing)))
