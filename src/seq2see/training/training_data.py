"""The data of a training as people bring it: files, folders or Python objects, and where each is read from."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from seq2see.data.formats.folders import split_folder
from seq2see.data.formats.in_memory import Fields, collect_pairs, find_memory_splits, find_origin
from seq2see.data.pairs import Origin
from seq2see.runs.folder import RunFolder

StrPath = str | os.PathLike[str]


def split_data(data: object) -> dict[str, object]:
    """Return the splits of a folder or of a dictionary of data sets by name; anything else is training data as a whole.

    Args:
        data: anything that `seq2see.train` takes as data.
    """
    if isinstance(data, str | os.PathLike):
        return {**split_folder(Path(data))}
    return dict(find_memory_splits(data) or {"train": data})


@dataclass(frozen=True)
class PlacedData:
    """Where each split can be read.

    Args:
        origins: the files of each split.
        fields: the names of the source and target columns; None if they are to be found.
        written: whether files were written into the run folder.
    """

    origins: dict[str, Origin]
    fields: Fields | None
    written: bool


def place_splits(
    splits: Mapping[str, object], folder: RunFolder, fields: Fields | None, usual: Fields | None = None
) -> PlacedData:
    """Give each split a file: Python objects are written into the run folder, to resume and repeat the run.

    A run that has begun must get the same objects again.

    Args:
        splits: files or Python objects by split.
        folder: the run folder.
        fields: the source and target columns that the user names; None finds them by their names.
        usual: columns that objects without `fields` are looked up for first, such as those of a run.
    """
    origins = {name: find_origin(data) for name, data in splits.items()}
    found = {name: origin for name, origin in origins.items() if origin is not None}
    objects = {name: data for name, data in splits.items() if origins[name] is None}
    if not objects:
        return PlacedData(found, fields, written=False)
    begun = folder.holds_run()
    pairs = {name: collect_pairs(data, fields=fields, usual=usual) for name, data in objects.items()}
    names = fields or next(iter(pairs.values())).fields  # one pair of names for all splits, as a configuration has it
    with discarding_data(folder, written=not begun):
        if not begun:
            folder.write_format()  # marks the folder as ours
        for name, each in pairs.items():
            file = folder.data_folder / f"{name}.jsonl"
            replace(each, fields=names).save(file, replace=not begun)
            found[name] = Origin(file.absolute())
    return PlacedData({name: found[name] for name in splits}, names, written=not begun)


@contextmanager
def discarding_data(folder: RunFolder, *, written: bool) -> Iterator[None]:
    """Remove the data that was written into a run folder if an error inside the `with` block prevents the run.

    Args:
        folder: the run folder; one that has a configuration keeps its data.
        written: whether the data was written for this training; else nothing is removed.
    """
    try:
        yield
    except BaseException:
        if written and not folder.config_file.is_file():
            shutil.rmtree(folder.data_folder, ignore_errors=True)
            with suppress(OSError):
                folder.format_file.unlink(missing_ok=True)
                folder.path.rmdir()
        raise


def name_new_folder(name: str) -> Path:
    """Return a run folder that does not exist yet: runs/NAME-1, runs/NAME-2 ...

    Args:
        name: the first part of its name.
    """
    number = 1
    while (folder := Path("runs") / f"{name}-{number}").exists():
        number += 1
    return folder
