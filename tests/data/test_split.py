"""Held-out data: by source, from text and seed alone, never on both sides."""

import pytest

from seq2see.core.errors import DataError
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Pairs
from seq2see.data.split import split_pairs


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


def test_images_may_be_moved() -> None:
    here, there = (make_pairs([f"/{place}/images/{n}.jpg" for n in range(50)]) for place in ("home/me", "mnt"))
    held = [split_pairs(pairs, held_out=0.3, seed=1)[1].lines for pairs in (here, there)]
    assert held[0] == held[1]
    assert 5 < len(held[0]) < 25


@pytest.mark.parametrize("seed", range(20))
def test_small_data_has_enough_to_check_on(seed: int) -> None:
    for count, least in ((40, 4), (100, 10), (150, 10)):
        pairs = make_pairs([f"source {n}" for n in range(count)])
        assert len(split_pairs(pairs, held_out=0.05, seed=seed)[1]) >= least
        assert len(split_pairs(pairs, held_out=0.001, seed=seed)[1]) >= 1


@pytest.mark.parametrize("seed", range(20))
def test_every_label_stays_with_a_source_to_learn_it_from(seed: int) -> None:
    targets = ["yes", "no", "yes|odd 1", "no", "odd 2", "yes", "odd 1|odd 3", "no"] * 2
    pairs = Pairs([f"source {n}" for n in range(14)] + ["source 4"], targets[:15])
    train, held = split_pairs(pairs, held_out=0.5, seed=seed, labels=lambda target: split_labels(target, "|"))
    learned, checked = ({label for target in side.target for label in target.split("|")} for side in (train, held))
    assert checked <= learned
    assert not set(train.source) & set(held.source)
    assert len(held) > 1


def test_labels_that_are_all_rare_are_refused() -> None:
    pairs = Pairs(["a", "b", "c"], ["x", "y", "z"])
    with pytest.raises(DataError, match="every source has a label that no other source has"):
        split_pairs(pairs, held_out=0.5, seed=1, labels=lambda target: [target])
