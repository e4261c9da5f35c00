"""What workers add up: here they are threads of one process, each with a model of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import configure
from torch import nn

from seq2see.core.errors import Seq2SeeError
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters
from seq2see.models.network import Network
from seq2see.tasks.transduction import Transduction
from seq2see.training.learner import Learner, Sums
from seq2see.training.process_group import ProcessGroup, add_up, average_buffers, moving_buffers

GRADIENTS = ([[1.0, -2.0, 3.0], [0.5, 0.0, -4.0]], [[5.0, 1.0, 0.25], [2.0, -8.0, 6.0]], [[7.0, 0.0, 1.0], [3.0] * 3])


class Line(nn.Linear, Network):
    """A model that is one linear layer."""


def gather(place: Path, workers: int, do: Callable[[ProcessGroup], Any]) -> list[Any]:
    """What each worker of a group makes of it."""

    def work(worker: int) -> Any:
        return do(ProcessGroup(place / "meeting", worker, workers))

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(workers)))


def make(**options: Any) -> Learner[Any]:
    torch.manual_seed(3)
    letters = Characters().learn(["ab"])
    return Learner(configure(Path("none"), **options), Transduction(TextModality(letters), letters), Line(3, 2))


@pytest.mark.parametrize("workers", [2, 3])
def test_gradients_losses_and_tokens_are_sums_over_workers(tmp_path: Path, workers: int) -> None:
    """Worker 1 alone has a gradient of the bias; unequal tokens show what is summed and what is no mean."""
    learners = [make(clip_gradient=0.0) for _ in range(workers)]

    def work(group: ProcessGroup) -> tuple[Sums, Any]:
        learner = learners[group.rank]
        learner.model.weight.grad = torch.tensor(GRADIENTS[group.rank])
        if group.rank == 1:
            learner.model.bias.grad = torch.tensor([10.0, -6.0])
        sums = add_up(learner, group, Sums(1.5 + group.rank, 3 + 4 * group.rank), checksum=7)
        return sums, [parameter.grad.clone() for parameter in learner.model.parameters()]

    expected = torch.tensor(GRADIENTS[:workers]).sum(dim=0)
    for sums, (weight, bias) in gather(tmp_path, workers, work):
        assert (sums.loss, sums.tokens) == ({2: 4.0, 3: 7.5}[workers], {2: 10, 3: 21}[workers])
        torch.testing.assert_close(weight, expected)
        assert bias.tolist() == [10.0, -6.0]


def test_a_step_of_two_workers_is_the_step_of_one_with_both_shares(tmp_path: Path) -> None:
    """Compared before the optimizer, which would make any gradient as long as another."""
    learners, seen = [make(clip_gradient=0.0) for _ in range(2)], []
    for learner in learners:
        learner.optimizer.register_step_pre_hook(
            lambda *_, learner=learner: seen.append(learner.model.weight.grad.clone())
        )

    def work(group: ProcessGroup) -> None:
        learner = learners[group.rank]
        learner.model.weight.grad = torch.tensor(GRADIENTS[group.rank])
        sums = add_up(learner, group, Sums(1.0, (3, 5)[group.rank]), checksum=0)
        learner.optimizer_step(0.1, sums.tokens)

    gather(tmp_path, 2, work)
    for gradient in seen:
        torch.testing.assert_close(gradient, torch.tensor(GRADIENTS[:2]).sum(dim=0) / 8)
    assert torch.equal(learners[0].model.weight, learners[1].model.weight)
    assert len(seen) == 2


def test_what_nobody_has_a_gradient_of_keeps_none(tmp_path: Path) -> None:
    learners = [make() for _ in range(2)]

    def work(group: ProcessGroup) -> None:
        learners[group.rank].model.weight.grad = torch.ones(2, 3)
        add_up(learners[group.rank], group, Sums(1.0, 2), checksum=0)

    gather(tmp_path, 2, work)
    assert [learner.model.bias.grad for learner in learners] == [None, None]


def test_workers_whose_weights_differ_are_refused(tmp_path: Path) -> None:
    learners = [make() for _ in range(2)]
    assert learners[0].checksum() == learners[1].checksum()
    with torch.no_grad():
        learners[1].model.bias[1] += 1e-6
    assert learners[0].checksum() != learners[1].checksum()

    def work(group: ProcessGroup) -> None:
        learner = learners[group.rank]
        learner.model.weight.grad = torch.ones(2, 3)
        with pytest.raises(Seq2SeeError, match="the weights must be the same in all processes"):
            add_up(learner, group, Sums(1.0, 2), checksum=learner.checksum())

    gather(tmp_path, 2, work)


def test_buffers_become_their_mean_over_tokens_and_counts_those_of_worker_0(tmp_path: Path) -> None:
    """Three tokens saw 1 and 4, one saw 5 and 0; who saw none has nothing to say."""
    models = [nn.Module() for _ in range(3)]
    for model, values, count in zip(models, ([1.0, 4.0], [5.0, 0.0], [100.0, 100.0]), (6, 8, 9), strict=True):
        model.register_buffer("average", torch.tensor(values))
        model.register_buffer("count", torch.tensor(count))
        model.register_buffer("table", torch.tensor([float(count)]), persistent=False)
    gather(tmp_path, 3, lambda group: average_buffers(moving_buffers(models[group.rank]), group, (3, 1, 0)[group.rank]))
    assert [model.average.tolist() for model in models] == [[2.0, 3.0]] * 3
    assert [model.count.item() for model in models] == [6, 6, 6]
    assert [model.table.item() for model in models] == [6, 8, 9]
