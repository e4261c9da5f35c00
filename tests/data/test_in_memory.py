"""Pairs that are Python objects: what is taken, and what comes back when they are read again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from seq2see.core.errors import CheckpointError, DataError
from seq2see.data.formats.in_memory import collect_pairs, find_memory_splits, find_origin
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin, Pairs

ODD = [("a\tb", "c\nd"), (' "x", y', "é\u2028ü"), ("1,2", "{}")]


class Column(list[Any]):
    """As the columns of pandas and polars are: something with `to_list`."""

    def to_list(self) -> list[Any]:
        return list(self)


class Frame:
    """As data frames are: columns by name; iterating over one gives no rows."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Column:
        return Column(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)


class ClassLabel:
    """As data sets of Hugging Face name the numbers of their labels."""

    def int2str(self, number: int) -> str:
        return ["neg", "pos"][number]


class DataSet:
    """As data sets of Hugging Face are: rows that are dictionaries, and features."""

    def __init__(self, rows: list[dict[str, Any]], **features: Any) -> None:
        self._rows, self.features = rows, features

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)


def read_back(data: object, place: Path, **options: Any) -> Pairs:
    """The pairs as a training reads them."""
    pairs = collect_pairs(data, **options)
    pairs.save(place / "train.jsonl", replace=True)
    return read_pairs(Origin(place / "train.jsonl", fields=pairs.fields))[0]


def test_texts_come_back_as_they_are(tmp_path: Path) -> None:
    pairs = read_back(ODD, tmp_path)
    assert list(zip(pairs.source, pairs.target, strict=True)) == ODD


@pytest.mark.parametrize(
    "data",
    [
        [("a b", "x"), ("c", "y")],
        (pair for pair in [("a b", "x"), ("c", "y")]),
        [["a b", "x"], ["c", "y"]],
        [{"id": 7, "source": "a b", "target": "x"}, {"id": 8, "source": "c", "target": "y"}],
        {"source": ["a b", "c"], "target": ["x", "y"]},
        Frame(id=[7, 8], text=["a b", "c"], label=["x", "y"]),
        Frame(foo=["a b", "c"], bar=["x", "y"]),
        DataSet([{"translation": {"en": "a b", "de": "x"}}, {"translation": {"en": "c", "de": "y"}}]),
    ],
    ids=["pairs", "iterator", "lists", "records", "columns", "frame", "two columns", "data set"],
)
def test_every_kind_of_object_gives_the_same_pairs(data: object, tmp_path: Path) -> None:
    pairs = read_back(data, tmp_path)
    assert (list(pairs.source), list(pairs.target)) == (["a b", "c"], ["x", "y"])


def test_columns_are_named_where_their_names_say_nothing(tmp_path: Path) -> None:
    frame = Frame(foo=["a"], bar=["b"], baz=["c"])
    with pytest.raises(DataError, match=r"which columns hold source and target; got 'foo', 'bar', 'baz'; name them"):
        collect_pairs(frame)
    pairs = read_back(frame, tmp_path, fields=("baz", "foo"))
    assert (pairs.source[0], pairs.target[0]) == ("c", "a")
    with pytest.raises(DataError, match="there must be a column 'qux'; got 'foo', 'bar', 'baz'"):
        collect_pairs(frame, fields=("qux", "foo"))


def test_labels_of_a_data_set_have_their_names(tmp_path: Path) -> None:
    rows = [{"text": "bad", "label": 0}, {"text": "good", "label": 1}]
    pairs = read_back(DataSet(rows, text=None, label=ClassLabel()), tmp_path)
    assert list(pairs.target) == ["neg", "pos"]
    assert pairs.labels


def test_what_is_missing_is_skipped_as_in_a_file(tmp_path: Path) -> None:
    pairs = read_back(Frame(text=["a", None, "c"], label=["x", "y", float("nan")]), tmp_path)
    assert list(pairs.source) == ["a"]


def test_images_are_kept_beside_the_pairs(tmp_path: Path) -> None:
    image = Image.new("RGB", (4, 3), (200, 10, 10))
    image.save(tmp_path / "on disk.png")
    data = [(image, ["a red box", "red"]), (tmp_path / "on disk.png", "a box"), (str(tmp_path / "on disk.png"), "box")]
    pairs = read_back(data, tmp_path / "run")
    assert list(pairs.target) == ["a red box", "red", "a box", "box"]
    assert pairs.source[2] == pairs.source[3] == str(tmp_path / "on disk.png")
    assert Path(pairs.source[0]).parent == tmp_path / "run" / "images"
    with Image.open(pairs.source[0]) as kept:
        assert kept.getpixel((0, 0)) == (200, 10, 10)


def test_other_pairs_are_told_from_the_same(tmp_path: Path) -> None:
    collect_pairs(ODD).save(tmp_path / "run" / "train.jsonl", replace=True)
    collect_pairs(ODD).save(tmp_path / "run" / "train.jsonl", replace=False)
    with pytest.raises(CheckpointError, match=f"{tmp_path}: the training data has changed since this run began"):
        collect_pairs(ODD[1:]).save(tmp_path / "run" / "train.jsonl", replace=False)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "data must be a path, pairs .*; got int 7"),
        ([("a", "b"), "cd"], r"pair 2 must be \(source, target\); got 'cd'"),
        ([("a", "b", "c")], r"pair 1 must be \(source, target\)"),
        ([], "there is not one pair"),
        ({"source": ["a", "b"], "target": ["c"]}, "all columns must have as many rows; got .*'source': 2, 'target': 1"),
    ],
)
def test_what_is_no_pair_is_refused_in_a_sentence(data: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        collect_pairs(data)


def test_what_cannot_be_written_is_refused_by_its_number(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pair 2 must be of texts, labels or images; got object"):
        collect_pairs([("a", "b"), ("c", object())]).save(tmp_path / "train.jsonl", replace=True)


def test_files_are_told_from_objects(tmp_path: Path) -> None:
    source, target = tmp_path / "train.en", tmp_path / "train.de"
    assert find_origin(str(source)) == Origin(source)
    assert find_origin((source, str(target))) == Origin(source, target)
    assert find_origin({"source": source, "target": target}) == Origin(source, target)
    for data in ([("a", "b")], [source, target], {"source": ["a"], "target": ["b"]}, (("a", "b"), ("c", "d"))):
        assert find_origin(data) is None


def test_splits_go_by_the_names_that_people_give_them() -> None:
    assert find_memory_splits({"train": 1, "validation": 2, "test": 3}) == {"train": 1, "valid": 2, "test": 3}
    assert find_memory_splits({"source": [], "target": []}) is None
    assert find_memory_splits([("a", "b")]) is None
