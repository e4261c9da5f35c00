"""Folders of data: splits beside each other, or one sub-folder of images for each class."""

import os
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.image_paths import IMAGE_ENDINGS, list_some
from seq2see.data.formats.lines import ReadReport
from seq2see.data.pairs import Finding, Row

SPLIT_NAMES = {
    "train": ("train", "training"),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test", "testing"),
}
IDX_PREFIXES = {"train": "train", "test": "t10k"}  # of MNIST's files
DATA_ENDINGS = (".jsonl", ".ndjson", ".tsv", ".csv", ".json", ".txt", ".parquet")
SINGLE_FILE_NAMES = ("captions", "labels", "token", "Flickr8k.token", "results_20130124", "results")


def find_splits(folder: Path) -> dict[str, Path]:
    """Return the parts of a folder by the name of their split; a folder without splits is all training data.

    Args:
        folder: a folder with files or sub-folders such as train.jsonl and test.jsonl, with MNIST's files, with one data
            file, or with a sub-folder for each class.

    Returns:
        The file or folder of each split that is there: train, valid, test.
    """
    found: dict[str, Path] = {}
    for split, names in SPLIT_NAMES.items():
        places = [_find_file(folder, name) or _find_folder(folder / name) for name in names]
        places.append(_find_idx(folder, split))
        part = next((place for place in places if place is not None), None)
        found |= {split: part} if part is not None else {}
    if found:
        return found
    alone = next((file for name in SINGLE_FILE_NAMES if (file := _find_file(folder, name)) is not None), None)
    return {"train": alone or folder}


def split_folder(path: Path) -> dict[str, Path]:
    """Return the splits of a data folder, the training data first; a file is training data as a whole.

    Args:
        path: a folder or a file.

    Raises:
        DataError: the folder has splits, but no training data.
    """
    splits = find_splits(path) if path.is_dir() else {"train": path}
    if "train" not in splits:
        raise DataError(f"the folder must hold training data; got only {' and '.join(splits)}.", file=path)
    return splits


def read_classes(folder: Path, reading: ReadReport) -> list[Row]:
    """Read every image of every sub-folder, with the sub-folder's name as its label.

    Args:
        folder: a folder with one sub-folder of images for each class; images may be in deeper folders too.
        reading: collects what is odd, and is told that targets are labels.

    Returns:
        The number of each image, counted from 1, its absolute path and its label.
    """
    rows: list[Row] = []
    empty, other = [], []
    reading.labels = True
    for place in _list_folders(folder):
        files = list_files(place)
        images = [file for file in files if file.lower().endswith(IMAGE_ENDINGS)]
        rows += [(len(rows) + number, os.path.abspath(file), place.name) for number, file in enumerate(images, 1)]
        other += [file for file in files if not file.lower().endswith(IMAGE_ENDINGS)]
        empty += [] if images else [place.name]
    if not rows:
        raise DataError(
            "this folder holds no data: neither train.jsonl, captions.jsonl or the like, nor sub-folders with images "
            f"({', '.join(IMAGE_ENDINGS)}), one for each class; give a file, or such a folder.",
            file=folder,
        )
    stray = [
        file.name
        for file in folder.iterdir()
        if file.name.lower().endswith(IMAGE_ENDINGS) and not _is_hidden(file.name)
    ]
    if stray:
        message = f"an image is beside the classes, in none of them: {list_some(sorted(stray))}"
        remedy = "it is ignored; move it into the folder of its class"
        reading.findings.append(Finding("warning", message, remedy, folder, count=len(stray)))
    if empty:
        message = f"a sub-folder has no images: {list_some(empty)}"
        reading.findings.append(Finding("warning", message, "it is no class", folder, count=len(empty)))
    if other:
        names = list_some(os.path.relpath(file, folder) for file in other)
        reading.findings.append(Finding("note", f"no image: {names}", "it is ignored", folder, count=len(other)))
    return rows


def list_files(folder: Path) -> list[str]:
    """List all files of a folder and of the folders in it, sorted, without hidden files, which systems and notebooks
    leave.

    Args:
        folder: the folder.
    """
    files: list[str] = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        files += [os.path.join(base, name) for name in names if not _is_hidden(name)]
    return sorted(files)


def _find_file(folder: Path, name: str) -> Path | None:
    """Return the data file of this name, compressed or not, if there is one."""
    endings = [ending + gz for ending in (*DATA_ENDINGS, ".token") for gz in ("", ".gz")]
    return next((folder / (name + ending) for ending in endings if (folder / (name + ending)).is_file()), None)


def _find_folder(folder: Path) -> Path | None:
    """Return the folder if it is a split; one with images right inside it is a class of that name."""
    if not folder.is_dir():
        return None
    images = any(name.lower().endswith(IMAGE_ENDINGS) for name in os.listdir(folder))
    return folder if not images or any(find_splits(folder)[part] != folder for part in find_splits(folder)) else None


def _find_idx(folder: Path, split: str) -> Path | None:
    names = [f"{IDX_PREFIXES.get(split)}-images{dot}idx3-ubyte{gz}" for dot in "-." for gz in (".gz", "")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _list_folders(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.is_dir() and not _is_hidden(place.name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "Thumbs.db", "__MACOSX"))
