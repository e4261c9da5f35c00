"""Exercises for a memory say what they should, and no source is in two splits."""

from random import Random

import pytest

from seq2see.core.errors import DataError
from seq2see.data.synthetic.exercises import EXERCISES, make_exercises, write_copy, write_recall, write_repeat_copy


def test_a_copy_is_the_same() -> None:
    source, target = write_copy(7, Random(1))
    assert source == target
    assert len(source.split()) == 7


def test_a_repeated_copy_has_a_star_for_each_time() -> None:
    source, target = write_repeat_copy(3, Random(2))
    symbols, stars = source.split()[:3], source.split()[3:]
    assert set(stars) == {"*"}
    assert target.split() == symbols * len(stars)


def test_what_is_recalled_is_the_item_after_the_one_asked_for() -> None:
    source, target = write_recall(5, Random(3))
    items, asked = source.split(" ? ")
    listed = items.split(" | ")
    assert len(set(listed)) == 5
    assert target == listed[listed.index(asked) + 1]


@pytest.mark.parametrize("name", EXERCISES)
def test_splits_share_no_source_and_the_longer_one_is_longer(name: str) -> None:
    splits = make_exercises(name, lengths=(2, 6), train=300, valid=20, test=20, longer=10, seed=1)
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 300, "valid": 20, "test": 20, "longer": 10
    }  # fmt: skip
    sources = [source for pairs in splits.values() for source, _ in pairs]
    assert len(set(sources)) == len(sources)
    assert min(len(source) for source, _ in splits["longer"]) > max(len(source) for source, _ in splits["test"])
    again = make_exercises(name, lengths=(2, 6), train=400, valid=20, test=20, longer=10, seed=1)
    assert again["test"] == splits["test"]


@pytest.mark.parametrize(
    ("name", "lengths", "sentence"),
    [
        ("copy", (3, 2), r"the first at least 1 and no more than the second; got 3\.\.2"),
        ("recall", (1, 4), r"the first at least 2 .* got 1\.\.4"),
        ("copy", (1, 1), "too few different sequences"),
        ("recal", None, "did you mean 'recall'"),
    ],
)
def test_impossible_exercises_are_named(name: str, lengths: tuple[int, int] | None, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make_exercises(name, lengths=lengths, train=300, valid=20, test=20, longer=10, seed=1)


def test_exercises_use_all_symbols_all_times_and_all_places() -> None:
    random = Random(4)
    repeated = [write_repeat_copy(4, random)[0].split() for _ in range(200)]
    assert {len(words) - 4 for words in repeated} == {1, 2, 3, 4, 5}
    copied = {symbol for _ in range(50) for symbol in write_copy(8, random)[0].split()}
    assert copied == {symbol for words in repeated for symbol in words[:4]} == set("abcdefghijklmnopqrst")
    places = set()
    for _ in range(100):
        items, asked = write_recall(4, random)[0].split(" ? ")
        places.add(items.split(" | ").index(asked))
    assert places == {0, 1, 2}  # the last one has none after it
