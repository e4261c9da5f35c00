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
    """A request of the main process to a worker."""

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> bytes | None:
        """Do what is requested, in the worker.

        Args:
            learner: the model and optimizer of the worker.
            group: the process group of the training.

        Returns:
            A pickled result if the main process waits for one, else None.
        """
        ...


@dataclass(frozen=True)
class UpdateRequest:
    """One process's part of an update.

    Args:
        update: the number of the update, from 1.
        batches: this process's part of each batch; None where nothing of a batch is for this process.
        learning_rate: of the update; None computes gradients without an optimizer step, to measure their time.
    """

    update: int
    batches: Sequence[Batch | None]
    learning_rate: float | None

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> None:
        """Take part in the update; the main process waits for no result.

        Args:
            learner: the model and optimizer of the worker.
            group: the process group of the training.
        """
        self.run(learner, group)

    def run(self, learner: Learner[Network], group: ProcessGroup | None) -> Sums:
        """Compute the gradients of this part, add those of all other processes, and make the optimizer step.

        Args:
            learner: the model and optimizer of this process.
            group: the process group of the training; None if this process trains alone.

        Returns:
            Loss and tokens over all processes, and whether the weights moved.
        """
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
    """Make a worker go on from the tensors of the main process.

    Args:
        tensors: weights and optimizer state by name, as `Learner.dump` returns them.
    """

    tensors: Mapping[str, Tensor]

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> None:
        """Take over the tensors; the main process waits for no result.

        Args:
            learner: the model and optimizer of the worker.
            group: the process group of the training; not used.
        """
        learner.restore(self.tensors)


@dataclass(frozen=True)
class CallRequest(Generic[Item]):
    """One call of a function in a worker, with the averaged weights if an average is kept.

    Args:
        do: a function of a module, called with task, model and item.
        item: its last argument.
    """

    do: Callable[[Task, Network, Item], object]
    item: Item

    def answer(self, learner: Learner[Network], group: ProcessGroup) -> bytes:
        """Call the function, and return its pickled result.

        Args:
            learner: the model and optimizer of the worker.
            group: the process group of the training; not used.
        """
        with averaged(learner.optimizer):
            return pickle.dumps(self.do(learner.task, learner.model, self.item))
