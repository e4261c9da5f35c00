"""What workers add up: here they are threads of one process, each with a model of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import configure, start, write_reversals
from torch import distributed, nn

from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters
from seq2see.models.network import Network
from seq2see.tasks.transduction import Transduction
from seq2see.training import gradient_sums
from seq2see.training.data_parallel import ProcessGroupTrainer
from seq2see.training.gradient_sums import OverlappedSum, UpdateStatus, average_buffers, moving_buffers, share_status
from seq2see.training.learner import Learner, Sums
from seq2see.training.parallel_plan import ParallelPlan
from seq2see.training.process_group import HungError, LostError, ProcessGroup, add_pairs, read_patience

GRADIENTS = ([[1.0, -2.0, 3.0], [0.5, 0.0, -4.0]], [[5.0, 1.0, 0.25], [2.0, -8.0, 6.0]], [[7.0, 0.0, 1.0], [3.0] * 3])


class Line(nn.Linear, Network):
    """A model that is one linear layer."""


def gather(place: Path, workers: int, do: Callable[[ProcessGroup], Any]) -> list[Any]:
    """What each worker of a group makes of it."""
    place.mkdir(exist_ok=True)

    def work(worker: int) -> Any:
        store = distributed.FileStore(str(place / "meeting"), workers)
        return do(ProcessGroup(store, worker, workers))

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(workers)))


def add_up(learner: Learner[Any], group: ProcessGroup, mine: Sums) -> Sums:
    """The sums over all processes, all gradients at once."""
    return OverlappedSum(list(learner.model.parameters()), group).finish(mine)


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
        sums = add_up(learner, group, Sums(1.5 + group.rank, 3 + 4 * group.rank))
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
        sums = add_up(learner, group, Sums(1.0, (3, 5)[group.rank]))
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
        add_up(learners[group.rank], group, Sums(1.0, 2))

    gather(tmp_path, 2, work)
    assert [learner.model.bias.grad for learner in learners] == [None, None]


def test_workers_whose_weights_differ_are_refused(tmp_path: Path) -> None:
    learners = [make() for _ in range(2)]
    assert learners[0].checksum() == learners[1].checksum()
    with torch.no_grad():
        learners[1].model.bias[1] += 1e-6
    assert learners[0].checksum() != learners[1].checksum()

    def work(group: ProcessGroup) -> None:
        with pytest.raises(Seq2SeeError, match="the weights must be the same in all processes"):
            share_status(group, UpdateStatus(learners[group.rank].checksum()))

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


def test_any_process_can_stop_or_cancel(tmp_path: Path) -> None:
    def work(group: ProcessGroup) -> list[UpdateStatus]:
        return [
            share_status(group, UpdateStatus(5)),
            share_status(group, UpdateStatus(5, stop=group.rank == 2)),
            share_status(group, UpdateStatus(5, cancel=group.rank == 0)),
        ]

    for words in gather(tmp_path, 3, work):
        assert words == [UpdateStatus(5), UpdateStatus(5, stop=True), UpdateStatus(5, cancel=True)]


def test_gradients_are_summed_while_the_backward_pass_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets of one parameter each: that of the last layer is on its way before the first layer has a gradient."""
    monkeypatch.setattr(gradient_sums, "BUCKET_NUMBERS", 7)
    steps: list[str] = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, numbers: torch.Tensor) -> torch.Tensor:
            return numbers.clone()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            steps.append("first layer")
            return gradient

    def work(group: ProcessGroup) -> list[torch.Tensor]:
        torch.manual_seed(4)
        first, last = nn.Linear(3, 2, bias=False), nn.Linear(2, 5, bias=False)
        parameters = [first.weight, last.weight]
        begin = group.start_sum

        def start_sum(numbers: torch.Tensor) -> Callable[[], None]:
            steps.append(f"sum of {numbers.numel()}")
            return begin(numbers)

        group.start_sum = start_sum  # type: ignore[method-assign]
        summed = OverlappedSum(parameters, group)
        for _ in range(2):  # the second update begins anew
            for parameter in parameters:
                parameter.grad = None
            with summed.starting():
                (last(Watched.apply(first(torch.full((1, 3), 1.0 + group.rank)))) ** 2).sum().backward()
            before = [parameter.grad.clone() for parameter in parameters if parameter.grad is not None]
            summed.finish(Sums(0.0, 1))
        return [*before, *(parameter.grad for parameter in parameters if parameter.grad is not None)]

    (a, b, *sums), (c, d, *others) = gather(tmp_path, 2, work)
    for gradients in (sums, others):
        torch.testing.assert_close(gradients, [a + c, b + d])
    facts = "sum of 4"  # loss, tokens, and which parameters have a gradient
    assert sorted(step for step in steps if step not in ("first layer", facts)) == ["sum of 10"] * 4 + ["sum of 6"] * 4
    assert steps.index("sum of 10") < steps.index("first layer")


def test_processes_tell_each_other_json_of_any_length(tmp_path: Path) -> None:
    told = [{"rank": 0, "text": "\u00fc\u4e16" * 50}, [1.5, None, float("inf")], "short"]
    assert gather(tmp_path, 3, lambda group: group.exchange(told[group.rank])) == [told] * 3
    assert gather(tmp_path / "other", 3, lambda group: group.hear(told[group.rank])) == [told[0]] * 3


@pytest.mark.parametrize("workers", [2, 4])
def test_a_sum_in_pairs_has_the_bits_of_one_process(tmp_path: Path, workers: int) -> None:
    """Numbers of very different size, so that another order of additions gives other bits."""
    draw = torch.Generator().manual_seed(7)
    terms = [torch.randn(13, generator=draw) * 3.0**place for place in range(4)]
    expected = (terms[0] + terms[1]) + (terms[2] + terms[3])
    assert not torch.equal(expected, ((terms[0] + terms[1]) + terms[2]) + terms[3])
    parts = [add_pairs(terms[rank * 4 // workers : (rank + 1) * 4 // workers]) for rank in range(workers)]
    for total in gather(tmp_path, workers, lambda group: sum_tree(group, parts[group.rank])):
        assert torch.equal(total, expected)


def sum_tree(group: ProcessGroup, numbers: torch.Tensor) -> torch.Tensor:
    total = numbers.clone()
    group.sum_tree(total)
    return total


def test_pairs_are_added_first() -> None:
    terms = [torch.tensor(2.0**24), torch.tensor(1.0), torch.tensor(1.0), torch.tensor(-(2.0**24)), torch.tensor(3.0)]
    assert (
        add_pairs(terms[:4]).item() == 1.0
    )  # (2^24 + 1) + (1 - 2^24), where the first is rounded; one by one they give 0
    assert add_pairs(terms[3:]).item() == 3 - 2.0**24
    assert add_pairs(terms[4:]).item() == 3.0


def test_a_process_that_ends_is_one_sentence(tmp_path: Path) -> None:
    def work(group: ProcessGroup) -> str:
        group.sum(torch.ones(3))
        if group.rank == 1:
            return ""
        with pytest.raises(LostError) as error:
            group.sum(torch.ones(3))
        return str(error.value)

    assert "another process of the training ended" in gather(tmp_path, 2, work)[0]


def test_a_process_that_does_not_answer_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SEE_TIMEOUT", "1")
    done = threading.Event()

    def work(group: ProcessGroup) -> str:
        if group.rank == 1:
            done.wait(60)
            return ""
        with pytest.raises(HungError) as error:
            group.sum(torch.ones(3))
        done.set()
        return str(error.value)

    assert "has not answered" in gather(tmp_path, 2, work)[0]


@pytest.mark.parametrize("given", ["0", "-3", "soon", "nan", "1e400"])
def test_the_timeout_must_be_a_positive_number(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SEQ2SEE_TIMEOUT", given)
    with pytest.raises(ConfigError, match="SEQ2SEE_TIMEOUT must be a positive number of seconds"):
        read_patience()


def test_a_cancelled_update_ends_the_others_and_changes_nothing(tmp_path: Path) -> None:
    """Rank 0 takes part with nothing; the other one computes its gradients for nothing."""
    config = configure(write_reversals(tmp_path / "reversed.tsv"), accumulate=2)
    jobs = [start(config, tmp_path / f"run{rank}") for rank in range(2)]
    before = [{name: each.clone() for name, each in job.loop.model.state_dict().items()} for job in jobs]

    def work(group: ProcessGroup) -> Sums | None:
        loop = jobs[group.rank].loop
        trainer = ProcessGroupTrainer(loop.learner, loop.store, ParallelPlan(2, 1), loop.folder.path, group=group)
        if group.rank == 0:
            trainer.cancel(1)
            return None
        return trainer.work(1, [(loop.store, np.arange(8))] * 2, 0.5)

    _, sums = gather(tmp_path / "group", 2, work)
    assert sums.cancelled
    for job, weights in zip(jobs, before, strict=True):
        assert all(torch.equal(weights[name], each) for name, each in job.loop.model.state_dict().items())
        assert all(each.grad is None for each in job.loop.model.parameters())
