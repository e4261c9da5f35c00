"""Requests of the main process of a data-parallel training to its workers; each knows how a worker answers it."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar, runtime_checkable

from torch import Tensor

from seq2see.data.batch import Batch
from seq2see.models.network import Network
from seq2see.tasks.task import Task
from seq2see.training.ema import averaged
from seq2see.training.learner import Learner, Sums
from seq2see.training.process_group import ProcessGroup, add_up, average_buffers, moving_buffers

UPDATES_BETWEEN_CHECKS = 100  # of the weights of all workers, which must be the same

Item = TypeVar("Item")


@runtime_checkable
class Request(Protocol):
    """What the main process asks of a worker."""

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> bytes | None:
        """Do it; returns a pickled result if the main process waits for one."""
        ...


@dataclass(frozen=True)
class UpdateRequest:
    """One worker's part of an update."""

    update: int
    batches: Sequence[Batch | None]  # None: nothing of the batch is for this worker
    learning_rate: float | None  # None: no optimizer step, to measure how long the rest takes

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> None:
        """Take part in the update."""
        self.run(learner, group)

    def run(self, learner: Learner[Network], group: ProcessGroup | None) -> Sums:
        """Add this part's gradients to those of all workers, and make the step."""
        if group is None:
            sums = learner.accumulate_gradients(self.update, self.batches)
        else:
            average = partial(average_buffers, moving_buffers(learner.model), group)
            sums = learner.accumulate_gradients(self.update, self.batches, rank=group.rank, after_batch=average)
            checked = self.learning_rate is not None and self.update % UPDATES_BETWEEN_CHECKS == 0
            sums = add_up(learner, group, sums, checksum=learner.checksum() if checked else 0)
        if self.learning_rate is None:
            learner.optimizer.zero_grad()
            return sums
        return replace(sums, moved=learner.optimizer_step(self.learning_rate, sums.tokens))


@dataclass(frozen=True)
class RestoreRequest:
    """The tensors that a worker goes on from."""

    tensors: Mapping[str, Tensor]

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> None:
        """Take them over."""
        learner.restore(self.tensors)


@dataclass(frozen=True)
class CallRequest(Generic[Item]):
    """One call of a function with the averaged weights, if an average is kept."""

    do: Callable[[Task, Network, Item], object]
    item: Item

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> bytes:
        """The result."""
        with averaged(learner.optimizer):
            return pickle.dumps(self.do(learner.task, learner.model, self.item))
