"""Pairs that are Python objects (lists, data frames, data sets), written once as JSON lines to be read as any file.

Data frames (pandas, polars) and data sets (Hugging Face) are known by what they can do; none of them is imported.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import JsonValue

from seq2see.core.errors import CheckpointError, DataError
from seq2see.core.registry import shorten
from seq2see.data.formats.folders import SPLIT_NAMES
from seq2see.data.formats.headers import IMAGE_NAMES, find_image_fields, find_text_columns, list_names
from seq2see.data.formats.image_object import encode_image, is_numbers, is_pixels
from seq2see.data.formats.image_paths import IMAGE_ENDINGS
from seq2see.data.formats.lines import ReadReport
from seq2see.data.pairs import Origin
from seq2see.system.files import write_atomic

Fields = tuple[str, str]
Record = Mapping[str, object]
PAIR_FIELDS: Fields = ("source", "target")
SPLIT_TITLES = {"train": "training", "valid": "held-out"}  # what people call a split
IMAGE_FIELDS: Fields = ("image", "text")


@runtime_checkable
class DataFrame(Protocol):
    """A table by columns, such as those of pandas and polars."""

    @property
    def columns(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Iterable[object]: ...


@dataclass(frozen=True)
class MemoryPairs:
    """Records of two fields, as they are written to a file.

    Args:
        fields: the names of source and target.
        records: source and target of each record: texts, numbers, labels, lists of them, paths or images.
    """

    fields: Fields
    records: Sequence[tuple[object, object]]

    def save(self, file: Path, *, replace: bool) -> None:
        """Write one JSON object a line; images go beside the file, each under a name that follows from its pixels.

        Args:
            file: a `.jsonl` file.
            replace: whether a file that is there already may be another one; else it must hold the same.
        """
        images: dict[str, bytes] = {}
        text = "".join(f"{json.dumps(record)}\n" for record in self._list_json(images))
        if not replace and not (file.is_file() and file.read_text(encoding="utf-8") == text):
            split = SPLIT_TITLES.get(file.stem, file.stem)
            raise CheckpointError(
                f"{file.parent.parent}: the {split} data has changed since this run began; train in another folder."
            )
        for name, content in images.items():
            if not (file.parent / name).is_file():
                write_atomic(file.parent / name, content)
        if replace:
            write_atomic(file, text)

    def _list_json(self, images: dict[str, bytes]) -> Iterator[dict[str, JsonValue]]:
        """Yield each record as JSON; the content of images that have no file is put into `images`."""
        source, target = self.fields
        named = source.lower() in IMAGE_NAMES
        for number, (left, right) in enumerate(self.records, 1):
            read = Path(left) if named and isinstance(left, str) else left
            yield {source: _to_json(read, number, images), target: _to_json(right, number, images)}


def find_memory_splits(data: object) -> Mapping[str, object] | None:
    """Return the splits of a dictionary of data sets by our names; None for any other object.

    Args:
        data: a dictionary with keys such as train, validation and test; other keys are left out.

    Returns:
        The data set of each split (train, valid, test); None if there is no training data.
    """
    if not isinstance(data, Mapping):
        return None
    known = {name: split for split, names in SPLIT_NAMES.items() for name in names}
    found = {known[name]: part for name, part in data.items() if name in known}
    return found if "train" in found else None


def find_origin(data: object, *, fields: Fields | None = None) -> Origin | None:
    """Return the files of a split; None for data that is no path.

    Args:
        data: a path, or the paths of sources and targets, line by line: as a tuple, or as a dictionary {"source": PATH,
            "target": PATH}.
        fields: the columns of source and target in one file; None finds them by their usual names.
    """
    if isinstance(data, str | os.PathLike):
        return Origin(Path(data).absolute(), fields=fields)
    both = (data.get("source"), data.get("target")) if isinstance(data, Mapping) and len(data) == 2 else data
    match both:
        case (str() | os.PathLike() as source, str() | os.PathLike() as target) if isinstance(data, tuple | Mapping):
            return Origin(Path(source).absolute(), Path(target).absolute())
    return None


def collect_pairs(data: object, *, fields: Fields | None = None, usual: Fields | None = None) -> MemoryPairs:
    """Collect the pairs of a Python object.

    Args:
        data: pairs (source, target), records (dictionaries), a dictionary of columns, a data frame or a data set.
        fields: the columns of source and target; None finds them by their usual names.
        usual: the columns that are taken without `fields` if the data has them, such as those of a run.

    Raises:
        DataError: the object has no pairs, or columns that do not fit.
    """
    if isinstance(data, Mapping):
        return _choose(_transpose(data, dict(data)), fields, usual)
    if isinstance(data, DataFrame):
        return _choose(_transpose(data.columns, data), fields, usual)
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise DataError(
            "data must be a path, pairs (source, target), a data frame or a data set; got "
            f"{type(data).__name__} {shorten(data)}."
        )
    items = list(data)
    if items and all(isinstance(item, Mapping) for item in items):
        return _choose([_flatten(_name_labels(item, data)) for item in items], fields, usual)
    return _read_pairs(items)


def _read_pairs(items: Sequence[object]) -> MemoryPairs:
    pairs: list[tuple[object, object]] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str | bytes) or not isinstance(item, Sequence) or len(item) != 2:
            raise DataError(f"pair {number} must be (source, target); got {shorten(item)}.")
        pairs.append((item[0], item[1]))
    if not pairs:
        raise DataError("there is not one pair; give at least a few.")
    images = all(isinstance(source, os.PathLike) or is_pixels(source) or _names_image(source) for source, _ in pairs)
    return MemoryPairs(IMAGE_FIELDS if images else PAIR_FIELDS, pairs)


def _names_image(source: object) -> bool:
    return isinstance(source, str) and source.lower().endswith(IMAGE_ENDINGS) and os.path.isfile(source)


def _transpose(names: Iterable[str], columns: Mapping[str, object] | DataFrame) -> list[Record]:
    """Return columns as records."""
    keys = list(names)
    texts, values = [str(key) for key in keys], [list_column(columns[key]) for key in keys]
    lengths = {name: len(column) for name, column in zip(texts, values, strict=True)}
    if len(set(lengths.values())) > 1:
        raise DataError(f"all columns must have as many rows; got {lengths}.")
    return [dict(zip(texts, row, strict=True)) for row in zip(*values, strict=True)]


def list_column(column: object) -> list[object]:
    """Return the values of a column.

    Args:
        column: a column of a data frame or data set, an array, or any other iterable but a text.

    Raises:
        DataError: the object is no column; of two columns with one name, pandas gives a data frame.
    """
    if isinstance(column, DataFrame):
        names = ", ".join(map(str, column.columns))
        raise DataError(f"the columns of a data frame must have different names; got {names}; rename them.")
    if is_numbers(column):
        return list(column)  # of images
    to_list: Callable[[], list[object]] | None = getattr(column, "to_list", None) or getattr(column, "tolist", None)
    if to_list is not None:
        return to_list()
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise DataError(f"a column must be a list of texts; got {shorten(column)}.")
    return list(column)


def _choose(records: Sequence[Record], fields: Fields | None, usual: Fields | None) -> MemoryPairs:
    """Choose the fields of source and target: those that are named, else by their usual names, else the only two."""
    if not records:
        raise DataError("there is not one pair; give at least a few.")
    names = list(records[0])
    known = usual if usual is not None and set(usual) <= set(names) else None
    chosen = fields or known or _find_fields(records[0], names)
    for name in chosen:
        if name not in names:
            found = list_names(names)
            raise DataError(f"there must be a column {shorten(name)}; got {found}; name two of them as fields.")
    return MemoryPairs(chosen, [(record.get(chosen[0]), record.get(chosen[1])) for record in records])


def _find_fields(record: Record, names: Sequence[str]) -> Fields:
    images = find_image_fields(dict(record), ReadReport())
    if images is not None:
        return images
    found = find_text_columns(names, [])
    if found is not None:
        return names[found[0]], names[found[1]]
    if len(names) == 2:
        return names[0], names[1]
    raise DataError(
        f"it must be clear which columns hold source and target; got {list_names(names)}; name them: "
        "fields=(SOURCE, TARGET)."
    )


def _flatten(record: Record, prefix: str = "") -> dict[str, object]:
    """Return the fields of a record; those of a record inside it are named outer.inner."""
    return dict(_walk(record, prefix))


def _walk(record: Record, prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _walk(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _name_labels(record: Record, data: object) -> Record:
    """Return the record with the names of its classes, where the data set has them for their numbers (`ClassLabel`)."""
    features = getattr(data, "features", None)
    if not isinstance(features, Mapping):
        return record
    return {name: _name_label(value, getattr(features.get(name), "int2str", None)) for name, value in record.items()}


def _name_label(value: object, name: Callable[[int], str] | None) -> object:
    return name(value) if name is not None and isinstance(value, int) and value >= 0 else value


def _to_json(value: object, number: int, images: dict[str, bytes]) -> JsonValue:
    """Return a value as JSON: a text, a number, null, a list; an image as its name, its bytes put into `images`."""
    item: Callable[[], object] | None = getattr(value, "item", None)
    if item is not None and not isinstance(value, str | int | float) and getattr(value, "shape", None) == ():
        value = item()  # a number of NumPy
    if isinstance(value, float) and math.isnan(value):
        return None  # how pandas writes that there is nothing
    if value is None or isinstance(value, str | int | float):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, os.PathLike):
        return os.path.abspath(os.fspath(value))
    if is_pixels(value):
        name, content = encode_image(value)
        images[f"images/{name}"] = content
        return f"images/{name}"
    if isinstance(value, list | tuple):
        return [_to_json(each, number, images) for each in value]
    raise DataError(f"pair {number} must be of texts, labels or images; got {type(value).__name__} {shorten(value)}.")
