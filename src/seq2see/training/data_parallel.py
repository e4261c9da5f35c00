"""Data-parallel training: each process computes the gradients of its part of every batch, all make the same step.

Every process has all training data and the same order of batches, so that no process sends data to another. The
process of rank 0 is the only one that writes files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar, get_type_hints, runtime_checkable

import numpy as np
import torch
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from torch import Tensor

from seq2see.data.batch import Batch, Rows, collate
from seq2see.data.storage.dataset import Store
from seq2see.models.network import Network
from seq2see.tasks.task import Task
from seq2see.training.gradient_sums import OverlappedSum, UpdateStatus, average_buffers, moving_buffers, share_status
from seq2see.training.learner import Learner, Sums
from seq2see.training.local_workers import LocalWorkers
from seq2see.training.microbatches import accumulate_microbatches, check_microbatches, list_microbatches
from seq2see.training.parallel_plan import ParallelPlan, cut
from seq2see.training.process_group import ProcessGroup

UPDATES_BETWEEN_CHECKS = 100  # of the weights of all processes, which must be the same

Slice = tuple[Store, Rows]  # rows of a store, as one epoch sees its sources
Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Share(Protocol):
    """Call a function for each of many items, in all processes of a training; the results are in order."""

    def __call__(self, do: Callable[[Task, Network, Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call the function for each item, and return the results in the order of the items.

        Args:
            do: a function called with the task, the model with the weights as they are, and an item. The type of its
                result is annotated, and can be written as JSON.
            items: its last arguments, the same in all processes.
        """
        ...


class ProcessGroupTrainer:
    """This process's part of a training that several processes may share.

    Args:
        learner: the model and optimizer of this process.
        store: the training data.
        plan: how many processes there are, and how many threads each has.
        folder: the run folder, from which local workers read configuration, tokenizers and code.
        group: the process group that this process belongs to; None starts local workers if the plan has more than one
            process.
    """

    def __init__(
        self,
        learner: Learner[Network],
        store: Store,
        plan: ParallelPlan,
        folder: Path,
        *,
        group: ProcessGroup | None = None,
    ) -> None:
        self.learner, self.plan, self._store = learner, plan, store
        self._lengths = store.source.lengths, store.target.lengths
        self._microbatches = learner.config.train.microbatches
        self._local: LocalWorkers | None = None
        self._parameters = [each for each in learner.model.parameters() if each.requires_grad]
        check_microbatches(self._microbatches, plan.workers)
        torch.set_num_threads(plan.threads)
        if group is None and plan.workers > 1:
            self._local = LocalWorkers(folder.absolute(), plan)
            group = self._local.group
        self.group, self.rank = group, 0 if group is None else group.rank
        self._sum = None if group is None or self._microbatches else OverlappedSum(self._parameters, group)

    def sync(self, facts: object) -> object:
        """Give all processes the weights of rank 0, and all else that learning changes.

        Args:
            facts: what rank 0 tells the others beside, which can be written as JSON; not used of other processes.

        Returns:
            What rank 0 tells.
        """
        if self.group is None:
            return facts
        with self._explaining():
            self._await_begin()
            tensors = self.learner.dump() if self.rank == 0 else {}
            shapes = {name: [str(each.dtype).removeprefix("torch."), *each.shape] for name, each in tensors.items()}
            shapes, facts = self.group.hear([shapes, facts])
            copied = self._copy_tensors(tensors, shapes)
            if self.rank:
                self.learner.restore(copied)
        return facts

    def rehearse(self, update: int, rows: Rows) -> None:
        """Compute the gradients of one batch in all processes, without an optimizer step, so that they can be timed.

        Args:
            update: the number of the update whose objective is computed.
            rows: the rows of the batch.
        """
        with self._explaining():
            if self.group is not None:
                self.group.hear([update, *rows.tolist()])
            self.work(update, [(self._store, rows)], None)

    def work(
        self,
        update: int,
        batches: Sequence[Slice],
        learning_rate: float | None,
        *,
        stop: Callable[[], bool] = lambda: False,
        cancel: bool = False,
    ) -> Sums:
        """Make one update over some batches in all processes.

        Args:
            update: the number of the update, from 1; random numbers and schedules of the objective follow from it.
            batches: the batches whose gradients are summed (train.accumulate of them).
            learning_rate: of this update; None computes the gradients only and makes no optimizer step.
            stop: called once; if it returns True in any of several processes, the sums of all of them say so.
            cancel: whether this process takes part only to end the others, without any change of the weights.

        Returns:
            Loss and tokens, summed over all processes, and whether any of them wants to stop or cancelled the update.
        """
        status = UpdateStatus()
        with self._explaining():
            sums = self._accumulate(update, batches)
            if self.group is not None:
                checked = learning_rate is not None and update % UPDATES_BETWEEN_CHECKS == 0
                checksum = self.learner.checksum() if checked else 0
                status = share_status(self.group, UpdateStatus(checksum, stop=stop(), cancel=cancel))
        sums = replace(sums, stop=status.stop, cancelled=status.cancel)
        if learning_rate is None or status.cancel:
            self.learner.optimizer.zero_grad()
            return sums
        return replace(sums, moved=self.learner.optimizer_step(learning_rate, sums.tokens))

    def cancel(self, update: int) -> None:
        """End all other processes, which are computing the gradients of an update that this one does not want.

        Args:
            update: the number of the update.
        """
        if self.group is not None:
            self.work(update, [], 0.0, cancel=True)

    def share(self, do: Callable[[Task, Network, Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call a function for each of many items, in all processes, and return the results in the order of the items.

        Args:
            do: a function called with task, model and item, whose annotated result can be written as JSON.
            items: its last arguments, the same in all processes; each process takes every n-th.
        """
        mine = [
            do(self.learner.task, self.learner.model, item)
            for place, item in enumerate(items)
            if place % self.plan.workers == self.rank
        ]
        if self.group is None:
            return mine
        read: TypeAdapter[Result] = TypeAdapter(get_type_hints(do)["return"])
        with self._explaining():
            told = self.group.exchange(to_jsonable_python(mine, inf_nan_mode="constants"))
        rows = [told[place % len(told)][place // len(told)] for place in range(sum(map(len, told)))]
        return [read.validate_python(row) for row in rows]

    def close(self) -> None:
        """End the local workers, if this process started any."""
        if self._local is not None:
            self._local.end()
        self._local = self.group = self._sum = None

    def _accumulate(self, update: int, batches: Sequence[Slice]) -> Sums:
        """Return the sums of an update over all processes, and give the parameters their gradients."""
        referring = self.learner.objective.needs_references(update)
        count = self._microbatches or self.plan.workers
        cuts = [cut(rows, *self._lengths, count) if count > 1 else [rows] for _, rows in batches]

        def take(number: int) -> list[Batch | None]:
            if not batches:
                return [None] * self.learner.config.train.accumulate  # of an update that is cancelled
            parts = [(store, pieces[number]) for (store, _), pieces in zip(batches, cuts, strict=True)]
            return [collate(store, rows, referring=referring) if len(rows) else None for store, rows in parts]

        if self._microbatches:
            numbers = list_microbatches(self._microbatches, self.rank, self.plan.workers)
            return accumulate_microbatches(self.learner, update, numbers, take, self.group)
        if self.group is None or self._sum is None:
            return self.learner.accumulate_gradients(update, take(0))
        buffers, group, summed, parts = moving_buffers(self.learner.model), self.group, self._sum, take(self.rank)
        left = len(parts)

        def average(tokens: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                summed.start_rest()  # in all processes before this sum, also in one without a part of the last batch
            average_buffers(buffers, group, tokens)

        mine = self.learner.accumulate_gradients(
            update, parts, rank=self.rank, after_batch=average, around_last=summed.starting
        )
        return summed.finish(mine)

    def _await_begin(self) -> None:
        """Let the training begin in all processes; before, the others rehearse what rank 0 asks for."""
        assert self.group is not None
        while asked := self.group.hear([]):
            update, *rows = asked
            self.work(update, [(self._store, np.array(rows))], None)

    def _copy_tensors(self, mine: Mapping[str, Tensor], shapes: Mapping[str, Sequence[str | int]]) -> dict[str, Tensor]:
        """Return the tensors of rank 0 by name."""
        assert self.group is not None
        tensors = {}
        for name, (dtype, *shape) in shapes.items():
            own = mine.get(name)
            sizes = [int(size) for size in shape]
            sent = torch.empty(sizes, dtype=getattr(torch, str(dtype))) if own is None else own.detach().cpu().clone()
            self.group.copy_first(sent)
            tensors[name] = sent
        return tensors

    def _explaining(self) -> "LocalWorkers | nullcontext[None]":
        """Return a context that turns a lost connection into the reason, where this process started the others."""
        return nullcontext() if self._local is None else self._local
