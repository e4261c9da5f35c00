"""Sources that are Python objects: which of them are one, and which column of a data frame is taken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seq2see.core.errors import DataError
from seq2see.data.formats.given_sources import is_single, list_sources


class Column(list[Any]):
    """As the columns of pandas and polars are: something with `to_list`."""

    def to_list(self) -> list[Any]:
        return list(self)


def make_frame(**columns: list[Any]) -> Any:
    """Return a stand-in for a data frame, which is no dictionary."""

    class Table:
        @property
        def columns(self) -> list[str]:
            return list(columns)

        def __getitem__(self, name: str) -> Column:
            return Column(columns[name])

        def __iter__(self) -> Any:
            return iter(columns)

    return Table()


def test_the_only_column_of_texts_is_taken() -> None:
    frame = make_frame(id=[1, 2], words=["a b", "c"], rate=[0.5, 1.5])
    assert list_sources(frame) == ["a b", "c"]
    assert not is_single(frame)
    assert list_sources(make_frame(file=[Path("a.png"), Path("b.png")], n=[1, 2])) == [Path("a.png"), Path("b.png")]
    assert list_sources(make_frame(words=[])) == []


def test_the_column_of_the_training_comes_first() -> None:
    frame = make_frame(text=["a", "b"], spoken=["c", "d"])
    assert list_sources(frame, usual="spoken") == ["c", "d"]
    with pytest.raises(DataError, match="got 'text', 'spoken', several of which have texts; give one column"):
        list_sources(frame, usual="other")


@pytest.mark.parametrize("columns", [{}, {"id": [1], "rate": [0.5]}])
def test_a_frame_without_texts_is_refused(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(DataError, match=r"must have one column of texts or images; got .*none of which has texts"):
        list_sources(make_frame(**columns))


def test_columns_of_one_name_are_refused() -> None:
    class Twice:
        columns = ("a", "a")

        def __getitem__(self, name: str) -> Any:
            return make_frame(a=["x"])  # as pandas does

    with pytest.raises(DataError, match="must have different names; got a"):
        list_sources(Twice())


@pytest.mark.parametrize(
    "given", [["a", "b"], ("a", "b"), Column(["a", "b"]), np.array(["a", "b"]), np.array(["a", "b"], dtype=object)]
)
def test_lists_columns_and_arrays_are_several_texts(given: Any) -> None:
    assert not is_single(given)
    found = list_sources(given)
    assert found == ["a", "b"]
    assert [type(each) for each in found] == [str, str]


@pytest.mark.parametrize("given", ["ab", Path("a.png"), b"ab", {"a": 1}, 5, np.array("ab"), Image.new("L", (2, 3))])
def test_what_is_not_several_is_one(given: Any) -> None:
    assert is_single(given)
    assert list_sources(given) == [given]
