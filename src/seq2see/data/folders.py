"""Folders of data: splits beside each other, or one sub-folder of pictures for each class."""

import os
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.album import ENDINGS, list_some
from seq2see.data.lines import Reading
from seq2see.data.pairs import Finding, Row

SPLITS = {
    "train": ("train", "training"),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test", "testing"),
}
IDX = {"train": "train", "test": "t10k"}  # as MNIST's files begin
FILES = (".jsonl", ".ndjson", ".tsv", ".csv", ".json", ".txt")
ALONE = ("captions", "labels", "token", "Flickr8k.token", "results_20130124", "results")


def find_splits(folder: Path) -> dict[str, Path]:
    """The parts of a folder by the name of their split; one that has none is all training data."""
    found: dict[str, Path] = {}
    for split, names in SPLITS.items():
        places = [_find_file(folder, name) or _find_folder(folder / name) for name in names]
        places.append(_find_idx(folder, split))
        part = next((place for place in places if place is not None), None)
        found |= {split: part} if part is not None else {}
    if found:
        return found
    alone = next((file for name in ALONE if (file := _find_file(folder, name)) is not None), None)
    return {"train": alone or folder}


def read_classes(folder: Path, reading: Reading) -> list[Row]:
    """Every picture of every sub-folder, with the sub-folder's name as its label."""
    rows: list[Row] = []
    empty, other = [], []
    reading.labels = True
    for place in _list_folders(folder):
        files = list_files(place)
        pictures = [file for file in files if file.lower().endswith(ENDINGS)]
        rows += [(len(rows) + number, os.path.abspath(file), place.name) for number, file in enumerate(pictures, 1)]
        other += [file for file in files if not file.lower().endswith(ENDINGS)]
        empty += [] if pictures else [place.name]
    if not rows:
        raise DataError(
            "this folder holds no data: neither train.jsonl, captions.jsonl or the like, nor sub-folders with pictures "
            f"({', '.join(ENDINGS)}), one for each class; give a file, or such a folder.",
            file=folder,
        )
    stray = [
        file.name for file in folder.iterdir() if file.name.lower().endswith(ENDINGS) and not _is_hidden(file.name)
    ]
    if stray:
        message = f"a picture stands beside the classes, in none of them: {list_some(sorted(stray))}"
        remedy = "it is ignored; move it into the folder of its class"
        reading.findings.append(Finding("warning", message, remedy, folder, count=len(stray)))
    if empty:
        message = f"a sub-folder has no pictures: {list_some(empty)}"
        reading.findings.append(Finding("warning", message, "it is no class", folder, count=len(empty)))
    if other:
        names = list_some(os.path.relpath(file, folder) for file in other)
        reading.findings.append(Finding("note", f"no picture: {names}", "it is ignored", folder, count=len(other)))
    return rows


def list_files(folder: Path) -> list[str]:
    """All files of a folder and the folders in it, but for hidden ones, which systems and notebooks leave behind."""
    files: list[str] = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        files += [os.path.join(base, name) for name in names if not _is_hidden(name)]
    return sorted(files)


def _find_file(folder: Path, name: str) -> Path | None:
    """A data file of this name, packed or not."""
    endings = [ending + packed for ending in (*FILES, ".token") for packed in ("", ".gz")]
    return next((folder / (name + ending) for ending in endings if (folder / (name + ending)).is_file()), None)


def _find_folder(folder: Path) -> Path | None:
    """The folder, if it is a split: one with pictures right inside it is a class that happens to have the name."""
    if not folder.is_dir():
        return None
    pictures = any(name.lower().endswith(ENDINGS) for name in os.listdir(folder))
    return folder if not pictures or any(find_splits(folder)[part] != folder for part in find_splits(folder)) else None


def _find_idx(folder: Path, split: str) -> Path | None:
    names = [f"{IDX.get(split)}-images{dot}idx3-ubyte{packed}" for dot in "-." for packed in (".gz", "")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _list_folders(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.is_dir() and not _is_hidden(place.name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "Thumbs.db", "__MACOSX"))
