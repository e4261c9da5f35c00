"""Held-out data: by source, from text and seed alone, never on both sides."""

import pytest

from seq2see.core.errors import DataError
from seq2see.data.labels import split_labels
from seq2see.data.pairs import Pairs
from seq2see.data.split import return_new_labels, split_pairs


def make_pairs(sources: list[str]) -> Pairs:
    return Pairs(sources, [f"{source}!" for source in sources], range(1, len(sources) + 1))


MANY = make_pairs([f"source {n % 700}" for n in range(2000)])


@pytest.mark.parametrize("held_out", [0.01, 0.1, 0.5, 0.9])
def test_no_source_is_on_both_sides_and_no_pair_is_lost(held_out: float) -> None:
    train, held = split_pairs(MANY, held_out=held_out, seed=1)
    assert not set(train.source) & set(held.source)
    assert sorted([*train.lines, *held.lines]) == list(MANY.lines)
    assert abs(len(held) / len(MANY) - held_out) < 0.05
    assert all(target == f"{source}!" for source, target in zip(held.source, held.target, strict=True))


def test_the_choice_follows_from_text_and_seed() -> None:
    _, held = split_pairs(MANY, held_out=0.1, seed=1)
    assert split_pairs(MANY, held_out=0.1, seed=1)[1] == held
    assert set(split_pairs(MANY, held_out=0.1, seed=2)[1].source) != set(held.source)
    shuffled = MANY.take([*range(1000, 2000), *range(1000)])
    assert set(split_pairs(shuffled, held_out=0.1, seed=1)[1].source) == set(held.source)
    more = make_pairs([*MANY.source, "another source"])
    assert set(split_pairs(more, held_out=0.1, seed=1)[1].source) - {"another source"} == set(held.source)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("held_out", [1e-9, 0.05, 0.5, 0.999999])
def test_tiny_data_leaves_something_on_each_side(count: int, held_out: float) -> None:
    for seed in range(10):
        train, held = split_pairs(make_pairs([str(n) for n in range(count)] * 2), held_out=held_out, seed=seed)
        assert len(train) >= 2
        assert len(held) >= 2
        assert not set(train.source) & set(held.source)


@pytest.mark.parametrize("sources", [["a"], ["a"] * 5])
def test_one_source_cannot_be_split(sources: list[str]) -> None:
    with pytest.raises(DataError, match=r"at least two different sources.* got 1; add pairs"):
        split_pairs(make_pairs(sources), held_out=0.1, seed=1)


def test_pictures_may_be_moved() -> None:
    here, there = (make_pairs([f"/{place}/images/{n}.jpg" for n in range(50)]) for place in ("home/me", "mnt"))
    held = [split_pairs(pairs, held_out=0.3, seed=1)[1].lines for pairs in (here, there)]
    assert held[0] == held[1]
    assert 5 < len(held[0]) < 25


def test_labels_that_only_held_out_sources_have_are_learned_from() -> None:
    train = Pairs(["a", "b"], ["yes", "no"], [1, 2])
    held = Pairs(["c", "d", "d", "e", "f"], ["no", "odd", "yes", "odd", "yes"], [3, 4, 5, 6, 7])
    more, rest = return_new_labels(train, held, lambda target: split_labels(target, None))
    # one source of the new label is enough, and takes all its pairs with it
    assert (more.source, more.lines) == (["a", "b", "d", "d"], [1, 2, 4, 5])
    assert (rest.source, rest.target) == (["c", "e", "f"], ["no", "odd", "yes"])
    same = return_new_labels(train, held.take([0, 4]), lambda target: split_labels(target, None))
    assert same == (train, held.take([0, 4]))
    with pytest.raises(DataError, match="nothing is left to check on"):
        return_new_labels(train, held.take([1]), lambda target: split_labels(target, None))
