"""Data-parallel training by several processes of one machine: each gets a part of every batch, all make the same step.

The main process has rank 0: it sends requests, validates and saves; the workers it started answer its requests.
"""

import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.data.batch import Rows, collate
from seq2see.data.storage.dataset import Store
from seq2see.models.network import Network
from seq2see.tasks.task import Task
from seq2see.training.learner import Learner, Sums
from seq2see.training.parallel_plan import ParallelPlan, cut
from seq2see.training.process_group import AGAIN, HungError, LostError, ProcessGroup
from seq2see.training.worker_process import WorkerProcess, WorkerSetup
from seq2see.training.worker_requests import CallRequest, Request, RestoreRequest, UpdateRequest

Slice = tuple[Store, Rows]  # rows of a store, as one epoch sees its sources
Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Share(Protocol):
    """Call a function for each of many items, in all processes of a training; the results are in order."""

    def __call__(self, do: Callable[[Task, Network, Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call the function for each item, and return the results in the order of the items.

        Args:
            do: a function of a module (other processes import it by its name), called with the task, the model with
                the weights as they are, and an item.
            items: its last arguments.
        """
        ...


class ProcessGroupTrainer:
    """All processes of a training: this one with rank 0, and the workers that it starts.

    Args:
        learner: the model and optimizer of this process.
        store: the training data, whose lengths decide how batches are divided.
        plan: how many processes there are, and how many threads each has.
        folder: the run folder, from which the workers read configuration, tokenizers and code.
    """

    def __init__(self, learner: Learner[Network], store: Store, plan: ParallelPlan, folder: Path) -> None:
        self.learner, self.plan = learner, plan
        self._lengths = store.source.lengths, store.target.lengths
        self._workers: list[WorkerProcess] = []
        self._group: ProcessGroup | None = None
        torch.set_num_threads(plan.threads)
        if plan.workers > 1:
            try:
                self._connect(folder.absolute())
            except BaseException:
                self.close()
                raise

    def sync(self) -> None:
        """Send the weights of this process, and all else that learning changes, to the workers."""
        if self._workers:
            self._send([RestoreRequest(self.learner.dump())] * len(self._workers))

    def work(self, update: int, batches: Sequence[Slice], learning_rate: float | None) -> Sums:
        """Make one update over some batches in all processes.

        Args:
            update: the number of the update, from 1; random numbers and schedules of the objective follow from it.
            batches: the batches whose gradients are summed (train.accumulate of them).
            learning_rate: of this update; None computes the gradients only and makes no optimizer step.

        Returns:
            Loss and tokens, summed over all processes.
        """
        mine, *theirs = zip(*(self._cut(*batch) for batch in batches), strict=True)
        self._send([self._request(update, part, learning_rate) for part in theirs])
        try:
            return self._request(update, mine, learning_rate).run(self.learner, self._group)
        except LostError:
            raise self._explain() from None

    def share(self, do: Callable[[Task, Network, Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call a function for each of many items, in all processes, and return the results in the order of the items.

        Args:
            do: a function of a module (workers import it by its name), called with task, model and item.
            items: its last arguments; each process takes one at a time. Items and results are pickled.
        """
        results: list[Result] = []
        waiting = iter(items)
        while some := list(islice(waiting, self.plan.workers)):
            first, *rest = some
            self._send([CallRequest(do, item) for item in rest])
            began = time.monotonic()
            results.append(do(self.learner.task, self.learner.model, first))
            took = time.monotonic() - began
            results += [self._receive(worker, do, took) for worker in self._workers[: len(rest)]]
        return results

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.end()
        self._workers, self._group = [], None

    def _connect(self, folder: Path) -> None:
        """Start the workers and connect the process group, over a file that is removed once all are connected."""
        with tempfile.TemporaryDirectory(prefix="seq2see-") as name:
            meeting = Path(name) / "meeting"
            known = self.learner.task.longest_target, self.learner.reward
            for rank in range(1, self.plan.workers):
                self._workers.append(WorkerProcess(WorkerSetup(rank, self.plan, folder, meeting, *known)))
            for worker in self._workers:
                worker.await_ready()
            try:
                self._group = ProcessGroup(meeting, 0, self.plan.workers)
            except LostError:
                raise self._explain() from None
            for worker in self._workers:  # until the last one no longer needs the file
                worker.await_ready()

    def _cut(self, store: Store, rows: Rows) -> list[Slice]:
        """Return the part of a batch that each process gets."""
        workers = self.plan.workers
        pieces = cut(rows, *self._lengths, workers) if workers > 1 else [rows]
        return [(store, piece) for piece in pieces]

    def _request(self, update: int, part: Sequence[Slice], learning_rate: float | None) -> UpdateRequest:
        referring = self.learner.objective.needs_references(update)
        batches = [collate(store, rows, referring=referring) if len(rows) else None for store, rows in part]
        return UpdateRequest(update, batches, learning_rate)

    def _send(self, requests: Sequence[Request]) -> None:
        for worker, request in zip(self._workers, requests, strict=False):
            try:
                worker.send(request)
            except BlockingIOError:
                raise HungError from None
            except OSError:
                raise self._explain() from None

    def _receive(self, worker: WorkerProcess, do: Callable[[Task, Network, Item], Result], took: float) -> Result:
        """Return the result of a call in a worker; the error of a call is raised here."""
        try:
            answer = pickle.loads(worker.receive(took=took))
        except (EOFError, OSError):
            raise self._explain() from None
        if isinstance(answer, Seq2SeeError):
            raise answer
        result: Result = answer
        return result

    def _explain(self) -> Seq2SeeError:
        """Return why the training cannot go on: the error of a worker, or how it ended."""
        reasons = [worker.find_failure() for worker in self._workers]
        for reason in reasons:
            if isinstance(reason, Seq2SeeError):
                return reason
        how = next((reason for reason in reasons if reason), "its connection broke")
        return Seq2SeeError(
            f"a process that shares the training ended early ({how}), perhaps for want of memory; make room and {AGAIN}"
        )
