"""Batches: the order follows from seed and epoch, every row comes once within the budget, and little is padding."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from seq2see.core.special_tokens import END, PAD, START
from seq2see.data.batch import collate, group_by_length, measure_padding, plan_batches, turn
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack, pad

Lengths = tuple[np.ndarray, np.ndarray]


def draw_lengths(count: int, longest: int, seed: int) -> Lengths:
    """Lengths without any order: the hardest case for the laws."""
    random = np.random.default_rng(seed)
    return random.integers(1, longest + 1, count), random.integers(1, longest + 1, count)


def draw_sentences(count: int) -> Lengths:
    """Lengths as sentences and their translations have them: lognormal, and correlated."""
    random = np.random.default_rng(7)
    common, own = random.normal(size=count), random.normal(size=count)
    lengths = [np.exp(3 + 0.5 * x) for x in (common, 0.95 * common + np.sqrt(1 - 0.95**2) * own)]
    source, target = (np.clip(length, 1, 300).astype(np.int64) + 1 for length in lengths)
    return source, target


CASES = [(1, 9, 5), (2, 9, 1), (50, 5, 7), (300, 30, 50), (400, 200, 300), (300, 1000, 1000), (400, 3, 4096)]


@pytest.mark.parametrize(("count", "longest", "budget"), CASES)
def test_every_row_comes_once_and_within_the_budget(count: int, longest: int, budget: int) -> None:
    for seed in range(5):
        source, target = draw_lengths(count, longest, seed)
        plan = plan_batches(source, target, budget=budget, seed=seed, epoch=seed)
        assert sorted(np.concatenate(plan).tolist()) == list(range(count))
        for rows in plan:
            width = max(source[rows].max(), target[rows].max())
            assert len(rows) == 1 or len(rows) * width <= budget


def test_the_budget_holds_where_lengths_jump() -> None:
    """Rows that are carried over from a cut batch must not meet a far longer one."""
    source, target = np.array([1] * 900 + [2] * 51), np.array([2] * 950 + [1000])
    for rows in plan_batches(source, target, budget=2000, seed=1, epoch=0):
        assert len(rows) * max(source[rows].max(), target[rows].max()) <= 2000


def test_the_order_follows_from_seed_and_epoch() -> None:
    lengths = draw_lengths(300, 30, 1)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [rows.tolist() for rows in plan_batches(*lengths, budget=100, seed=seed, epoch=epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    assert sorted(order(1, 0)) != sorted(order(1, 1))  # the batches themselves differ, not only their order


def test_little_of_a_batch_is_padding() -> None:
    source, target = draw_sentences(30_000)
    for epoch in range(2):
        plan = plan_batches(source, target, budget=4096, seed=1, epoch=epoch)
        assert measure_padding(plan, source) < 0.05
        assert measure_padding(plan, target) < 0.05
        filled = [len(rows) * max(source[rows].max(), target[rows].max()) / 4096 for rows in plan]
        assert np.mean(filled) > 0.85


def test_padding_is_the_share_of_empty_places() -> None:
    lengths = np.array([1, 3, 4, 2])
    assert measure_padding([np.array([0, 1]), np.array([2, 3])], lengths) == 1 - 10 / 14
    assert measure_padding([np.array([1])], lengths) == 0


def test_prediction_takes_the_longest_first_and_every_row_once() -> None:
    sequences = pack([[5] * length for length in (3, 1, 7, 7, 2, 30)])
    plan = group_by_length(sequences.lengths, budget=14)
    assert [rows.tolist() for rows in plan][:2] == [[5], [2, 3]]
    assert sorted(np.concatenate(plan).tolist()) == list(range(6))


def test_few_batches_are_as_many_for_each_worker_and_alike() -> None:
    lengths = np.array([10] * 25)  # three batches of ten, ten and five
    alone, shared = (group_by_length(lengths, budget=100, workers=workers) for workers in (1, 2))
    assert [len(rows) for rows in alone] == [10, 10, 5]
    assert [len(rows) for rows in shared] == [6, 6, 6, 7]
    assert np.concatenate(shared).tolist() == np.concatenate(alone).tolist()
    many = np.array([10] * 165)  # seventeen batches even out by themselves
    assert len(group_by_length(many, budget=100, workers=2)) == 17
    empty = np.array([90, *[1] * 100])  # cut by work alone, one would have nothing, and that is no batch
    assert [len(rows) for rows in group_by_length(empty, budget=100, workers=4)] == [1, 100]
    padded = np.array([*[10] * 3, *[1] * 100])  # or 14 rows padded to 10, which is more than the budget
    assert [len(rows) for rows in group_by_length(padded, budget=30, workers=2)] == [3, 30, 30, 30, 10]


def make_store(source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Store:
    return Store(pack(source), pack(target), fingerprint="")


def test_inputs_are_the_targets_one_step_late() -> None:
    store = make_store([[4, END], [5, 6, 7, END]], [[8, 9, END], [10, END]])
    batch = collate(store, np.array([1, 0]))
    assert batch.source.tolist() == [[5, 6, 7, END], [4, END, PAD, PAD]]
    assert batch.source_mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.targets.tolist() == [[10, END, PAD], [8, 9, END]]
    assert batch.inputs.tolist() == [[START, 10, PAD], [START, 8, 9]]
    assert batch.target_mask.tolist() == [[True, True, False], [True] * 3]
    assert batch.source.dtype == torch.int64


def test_a_batch_that_is_turned_round_is_that_of_the_pairs_turned_round() -> None:
    source, target = [[4, END], [5, 6, 7, END]], [[8, 9, END], [10, END]]
    forth, back = (collate(make_store(*sides), np.array([1, 0])) for sides in ((source, target), (target, source)))
    for name in ("source", "source_mask", "inputs", "targets", "target_mask"):
        assert torch.equal(getattr(turn(forth), name), getattr(back, name)), name


def test_rows_are_padded_at_the_end() -> None:
    padded, mask = pad([[4, 5], [6]])
    assert padded.tolist() == [[4, 5], [6, PAD]]
    assert mask.tolist() == [[True, True], [True, False]]


def test_a_source_with_several_targets_is_grouped_where_it_stands_first() -> None:
    pairs = Pairs(["a", "b", "a"], ["one", "two", "three"], [1, 2, 3]).group()
    assert (pairs.source, pairs.target, pairs.lines) == (["a", "b"], ["one", "two"], [1, 2])
    assert pairs.references == [["one", "three"], ["two"]]
    assert pairs.take([1]).references == [["two"]]
