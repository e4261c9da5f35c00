"""Pictures that a data file names: where they are, and which are missing."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.idx import split_place
from seq2see.data.lines import Reading
from seq2see.data.pairs import Finding, Origin, Row

ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
# Flickr's lists number the captions of a picture: 1000268201_693b08cb0e.jpg#0
NUMBERED = re.compile(rf"(.*(?:{'|'.join(map(re.escape, ENDINGS))})\S*)#\d+", re.IGNORECASE)
FOLDERS = (
    *("images", "Images", "image", "imgs", "img", "pictures", "photos", "Flicker8k_Dataset", "Flickr8k_Dataset"),
    *("flickr30k-images", "flickr30k_images", "train2014", "val2014", "train2017", "val2017"),
)
MOST = 0.9  # of sources that must look like pictures, if nothing else says that they are
TRIED = 50  # pictures by which the right folder is found


def is_picture(source: str) -> bool:
    """Whether a source is a picture: the absolute path of one, or a place in an idx file."""
    if not os.path.isabs(source):
        return False
    return source.lower().endswith(ENDINGS) or split_place(source) is not None or os.path.isfile(source)


def find_pictures(rows: list[Row], file: Path, reading: Reading) -> list[Row]:
    """Rows with the absolute path of each picture, less those that are missing; rows without pictures as they are."""
    names = [_name_picture(source) for _, source, _ in rows]
    if not reading.pictures and sum(name is not None for name in names) < MOST * len(rows):
        return rows
    numbered = any(NUMBERED.fullmatch(source.strip()) for _, source, _ in rows[:1])
    reading.labels = False if numbered else reading.labels
    certain = reading.pictures or numbered
    named = [(name or source).replace("\\", "/") for name, (_, source, _) in zip(names, rows, strict=True)]
    distinct = list(dict.fromkeys(named))
    folder, tried = _find_folder(file.absolute().parent, distinct)
    paths = {name: os.path.abspath(folder / name) for name in distinct}
    missing = {name for name, path in paths.items() if not os.path.isfile(path)}
    if len(missing) == len(distinct):
        return _give_up(rows, file, reading, certain, distinct[0], tried)
    lost = [line for name, (line, _, _) in zip(named, rows, strict=True) if name in missing]
    _note_missing([name for name in distinct if name in missing], lost, file, folder, reading)
    kept = [(name, row) for name, row in zip(named, rows, strict=True) if name not in missing]
    return [(line, paths[name], target) for name, (line, _, target) in kept]


def list_some(names: Iterable[str], most: int = 3) -> str:
    """The first few names, for a message."""
    shown = [repr(str(name))[:200] for name in names]
    return ", ".join([*shown[:most], "..."] if len(shown) > most else shown)


def _name_picture(source: str) -> str | None:
    """The name of the picture if a source looks like one."""
    match = NUMBERED.fullmatch(source.strip()) if "#" in source else None
    if match is not None:
        return match[1]
    name = source.strip()
    return name if name.lower().endswith(ENDINGS) and "\n" not in name and len(name) < 1000 else None


def _find_folder(home: Path, names: Sequence[str]) -> tuple[Path, list[Path]]:
    """The folder that has most of the pictures, and those that were looked at: beside the file, or one up."""
    known = [place / name for place in (home, home.parent) for name in FOLDERS]
    tried = [home, *(folder for folder in known if folder.is_dir())]
    some = names[:: max(len(names) // TRIED, 1)]
    return max(tried, key=lambda folder: sum(os.path.isfile(folder / name) for name in some)), tried


def _give_up(rows: list[Row], file: Path, reading: Reading, certain: bool, name: str, tried: list[Path]) -> list[Row]:
    if certain:
        raise DataError(
            f"not one of its pictures is there, neither {name!r} nor the others; put them beside the file or into "
            f"images/ (looked into {', '.join(map(str, tried))}).",
            file=file,
        )
    message = f"the sources look like pictures, such as {name!r}, but not one of them is there"
    remedy = "they are read as texts; if they are pictures, put them beside the file or into images/"
    reading.findings.append(Finding("warning", message, remedy, file))
    return rows


def _note_missing(missing: list[str], lines: list[int], file: Path, folder: Path, reading: Reading) -> None:
    if missing:
        message = f"a picture is not there: {list_some(missing)} of {folder}"
        remedy = f"its pairs are skipped ({len(lines):,} in all); add it or remove them"
        first = lines[0] if Origin(file).has_lines else None
        reading.findings.append(Finding("warning", message, remedy, file, first, len(missing)))
