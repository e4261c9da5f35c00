"""Microbatches: the same weights, bit for bit, however many processes compute them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import SMALL, configure, start, write_reversals
from torch import Tensor

from seq2see.core.errors import ConfigError
from seq2see.data.batch import collate
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.events import Stepped
from seq2see.training.gradient_sums import flatten_gradients
from seq2see.training.microbatches import PartialSum, check_microbatches, list_microbatches
from seq2see.training.parallel_plan import cut

# dropout draws random numbers, and rewards move the average that is kept in a buffer
HARD = {"kind": "before", "score": "additive", "normalise": {"kind": "hard", "soft_share": 0.5}}
MODEL = {half: {**options, "dropout": 0.2} for half, options in SMALL.items()}
MODEL["decoder"] = {**MODEL["decoder"], "reader": HARD}
OPTIONS: dict[str, Any] = {"batch_tokens": 96, "accumulate": 2, "ema": 0.8, "microbatches": 4}


def train(data: Path, out: Path, **options: Any) -> list[float]:
    """The losses of a training."""
    loop = start(configure(data, model=MODEL, **{**OPTIONS, **options}), out).loop
    return [event.loss for event in loop.run() if isinstance(event, Stepped)]


def read(out: Path) -> dict[str, Tensor]:
    return dict(read_checkpoint(RunFolder(out).checkpoints()[0]).tensors)


def test_processes_take_neighbours() -> None:
    assert [list(list_microbatches(8, rank, 2)) for rank in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [list(list_microbatches(4, rank, 4)) for rank in range(4)] == [[0], [1], [2], [3]]


def test_neighbours_are_joined_from_the_left() -> None:
    left, right = (PartialSum(1, torch.tensor([a]), torch.tensor([b])) for a, b in ((1.0, 10.0), (2.0, 20.0)))
    above = left.join(right)
    assert (above.height, above.gradients.item(), above.facts.item()) == (2, 3.0, 30.0)


@pytest.mark.parametrize(
    ("microbatches", "workers", "sentence"),
    [
        (6, 1, "train.microbatches must be a power of two; got 6"),
        (8, 3, "the number of processes must be a power of two, and at most 8; got 3"),
        (4, 8, "a power of two, and at most 4; got 8"),
    ],
)
def test_numbers_without_a_common_tree_are_refused(microbatches: int, workers: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_microbatches(microbatches, workers)
    check_microbatches(0, 3)
    check_microbatches(8, 8)


def test_gradients_are_the_sum_over_microbatches_with_their_own_random_numbers(tmp_path: Path) -> None:
    """The tree (0 + 1) + (2 + 3), worked out one by one; the buffer is the mean over tokens."""
    config = configure(write_reversals(tmp_path / "reversed.tsv"), model=MODEL, **{**OPTIONS, "accumulate": 1})
    loop = start(config, tmp_path / "run").loop
    parameters = [each for each in loop.model.parameters() if each.requires_grad]
    rows, learner = np.arange(10), loop.learner
    average = loop.model.get_buffer("decoder.reader.attend.normalise.total")
    began, moved, gradients, tokens = average.clone(), [], [], []
    for number, piece in enumerate(cut(rows, loop.store.source.lengths, loop.store.target.lengths, 4)):
        average.copy_(began)
        tokens.append(learner.accumulate_gradients(1, [collate(loop.store, piece)], rank=number).tokens)
        gradients.append(flatten_gradients(parameters))
        moved.append(average.clone().double())
        learner.optimizer.zero_grad()
    average.copy_(began)
    loop.workers.learner.optimizer_step = lambda *_: True  # type: ignore[method-assign]
    sums = loop.workers.work(1, [(loop.store, rows)], 0.1)
    assert sums.tokens == sum(tokens)
    assert torch.equal(flatten_gradients(parameters), (gradients[0] + gradients[1]) + (gradients[2] + gradients[3]))
    mean = sum(each * count for each, count in zip(moved, tokens, strict=True)) / sum(tokens)
    torch.testing.assert_close(average.double(), mean, rtol=1e-6, atol=0)
    assert len({each.item() for each in moved}) > 1


@pytest.mark.slow
def test_one_two_and_four_processes_give_the_same_bits(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "reversed.tsv")
    losses = [train(data, tmp_path / str(workers), workers=workers) for workers in (1, 2, 4)]
    assert losses[0] == losses[1] == losses[2]
    one, *others = (read(tmp_path / str(workers)) for workers in (1, 2, 4))
    assert one["model.decoder.reader.attend.normalise.total"] != 0
    for other in others:
        assert all(torch.equal(one[name], tensor) for name, tensor in other.items())


@pytest.mark.slow
def test_a_run_goes_on_with_more_processes_and_the_same_bits(tmp_path: Path) -> None:
    """Eight updates of one process, then four more of two, are twelve of one."""
    data = write_reversals(tmp_path / "reversed.tsv")
    train(data, tmp_path / "straight", workers=1)
    loop = start(configure(data, model=MODEL, workers=1, **OPTIONS), tmp_path / "moved").loop
    assert len(list(loop.run(lambda: loop.state.update == 8)))
    loop = start(configure(data, model=MODEL, workers=2, **OPTIONS), tmp_path / "moved").loop
    list(loop.run())
    left, right = read(tmp_path / "straight"), read(tmp_path / "moved")
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
