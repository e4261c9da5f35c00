"""A training by several processes of one machine: each has a share of every batch, and all make the same step.

The main process is worker 0: it decides, looks at the held-out data and saves; the others follow its orders.
"""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.core.foreign import admit
from seq2see.core.process import REQUESTS, serve_parent, starting_deaf
from seq2see.data.batch import Batch, Rows, collate
from seq2see.data.store import Store
from seq2see.train.ema import averaged
from seq2see.train.folder import RunFolder
from seq2see.train.group import Group, LostError, add_up, average_buffers, moving_buffers
from seq2see.train.learner import Learner, Sums
from seq2see.train.pretrained import freeze
from seq2see.train.teachers import add_teachers
from seq2see.train.team import Team, cut

CHECKED = 100  # updates between two comparisons of all workers' weights
LAST_WORDS = 5.0  # seconds to wait for the reason of a worker that failed
LEARNED = ("longest_target", "measure")  # what a task knows of the training data beside its tokenizers
READY = pickle.dumps(None)

Slice = tuple[Store, Rows]  # rows of a store, as one epoch sees its sources
Chore = Callable[[Any, Any, Any], Any]  # a function of a module: of task, model, and what it is to be done to
Share = Callable[[Chore, Iterable[Any]], list[Any]]


@dataclass(frozen=True)
class Order:
    """One worker's part of an update."""

    update: int
    batches: Sequence[Batch | None]  # None: nothing of it is for this worker
    rate: float | None  # None: no step, to see how long the rest takes


class Crew:
    """All processes of a training: this one, and the others that it has started."""

    def __init__(self, learner: Learner, store: Store, team: Team, folder: Path) -> None:
        self.learner, self.team = learner, team
        self._lengths = store.source.lengths, store.target.lengths
        self._others: list[_Other] = []
        self._group: Group | None = None
        torch.set_num_threads(team.threads)
        if team.workers > 1:
            try:
                self._meet(folder.absolute())
            except BaseException:
                self.close()
                raise

    def sync(self) -> None:
        """Give the others the weights, and all else that learning changes, of this process."""
        if self._others:
            self._send([self.learner.dump()] * len(self._others))

    def work(self, update: int, batches: Sequence[Slice], rate: float | None) -> Sums:
        """Make one update over some batches, together; without a rate, everything but the step."""
        mine, *theirs = zip(*(self._cut(*batch) for batch in batches), strict=True)
        self._send([self._order(update, share, rate) for share in theirs])
        try:
            return _follow(self._order(update, mine, rate), self.learner, self._group)
        except LostError:
            raise self._explain() from None

    def share(self, do: Chore, things: Iterable[Any]) -> list[Any]:
        """Do something with the weights as they are to each of many things, together; the results are in order."""
        results, waiting = [], iter(things)
        while some := list(islice(waiting, self.team.workers)):
            first, *others = some
            self._send([(do, thing) for thing in others])
            results.append(do(self.learner.task, self.learner.model, first))
            results += [self._receive(other) for other in self._others[: len(others)]]
        return results

    def close(self) -> None:
        """End the others."""
        for other in self._others:
            other.end()
        self._others, self._group = [], None

    def _meet(self, folder: Path) -> None:
        """Start the others and connect all, over a file that is gone as soon as they know each other."""
        with tempfile.TemporaryDirectory(prefix="seq2see-") as name:
            place = Path(name) / "meeting"
            learned = {name: getattr(self.learner.task, name) for name in LEARNED}
            for worker in range(1, self.team.workers):
                self._others.append(_Other(worker, self.team, folder, place, learned))
            for other in self._others:
                other.await_ready()
            self._group = Group(place, 0, self.team.workers)
            for other in self._others:  # until the last one no longer needs the file
                other.await_ready()

    def _cut(self, store: Store, rows: Rows) -> list[Slice]:
        """The part of a batch that each worker gets."""
        workers = self.team.workers
        pieces = cut(rows, *self._lengths, workers) if workers > 1 else [rows]
        return [(store, piece) for piece in pieces]

    def _order(self, update: int, share: Sequence[Slice], rate: float | None) -> Order:
        referring = self.learner.rewards(update)
        batches = [collate(store, rows, referring=referring) if len(rows) else None for store, rows in share]
        return Order(update, batches, rate)

    def _send(self, messages: Sequence[Any]) -> None:
        for other, message in zip(self._others, messages, strict=False):
            try:
                other.send(message)
            except OSError:
                raise self._explain() from None

    def _receive(self, other: "_Other") -> Any:
        try:
            answer = other.receive()
        except (EOFError, OSError):
            raise self._explain() from None
        if isinstance(answer, Seq2SeeError):
            raise answer
        return answer

    def _explain(self) -> Seq2SeeError:
        """Why the work cannot go on: what a worker said, or how it ended."""
        reasons = [other.ask_why() for other in self._others]
        for reason in reasons:
            if isinstance(reason, Seq2SeeError):
                return reason
        how = next((reason for reason in reasons if reason), "its connection broke")
        return Seq2SeeError(
            f"a process that shares the training ended early ({how}), perhaps for want of memory; make room and run "
            "the same command again to go on from the last checkpoint, or take fewer train.workers in another folder."
        )


class _Other:
    """Another process, as the main one sees it."""

    def __init__(self, worker: int, team: Team, folder: Path, place: Path, learned: Mapping[str, Any]) -> None:
        context = get_context("spawn")  # a process with threads must not be forked
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, worker, team, folder, place, learned))
        with starting_deaf(REQUESTS):
            self.process.start()
        theirs.close()  # so that nobody but the other process holds it, and its end is noticed here

    def send(self, message: Any) -> None:
        self.connection.send_bytes(pickle.dumps(message))  # `send` would put tensors into shared memory, often scarce

    def receive(self) -> Any:
        return pickle.loads(self.connection.recv_bytes())

    def await_ready(self) -> None:
        reason = self.ask_why(None)
        if isinstance(reason, str):
            raise Seq2SeeError(f"a process to share the training could not start ({reason}); set train.workers=1.")
        if reason is not None:
            raise reason

    def ask_why(self, seconds: float | None = LAST_WORDS) -> Seq2SeeError | str | None:
        """What is wrong with the process: the error it sent, or how it ended; None if all is well."""
        try:
            return self.receive() if self.connection.poll(seconds) else None
        except (EOFError, OSError):
            self.process.join(LAST_WORDS)
            code = self.process.exitcode or 0
            return f"signal {-code}" if code < 0 else f"exit code {code}" if code else None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(
    connection: Connection, worker: int, team: Team, folder: Path, place: Path, learned: Mapping[str, Any]
) -> None:
    """Follow the orders of the main process until it ends."""
    serve_parent(deaf_to=REQUESTS)
    torch.set_num_threads(team.threads)
    try:
        learner = _open(RunFolder(folder), learned)
        connection.send_bytes(READY)
        group = Group(place, worker, team.workers)
        connection.send_bytes(READY)
        while True:
            message = pickle.loads(connection.recv_bytes())
            if isinstance(message, Order):
                _follow(message, learner, group)
            elif isinstance(message, Mapping):
                learner.restore(message)
            else:
                do, thing = message
                with averaged(learner.optimizer):
                    connection.send_bytes(pickle.dumps(do(learner.task, learner.model, thing)))
    except (LostError, EOFError, OSError):
        pass  # another process has ended, and the main one knows
    except Exception as error:
        told = error if isinstance(error, Seq2SeeError) else Seq2SeeError(f"{type(error).__name__}: {error}")
        connection.send_bytes(pickle.dumps(told))


def _open(folder: RunFolder, learned: Mapping[str, Any]) -> Learner:
    """A learner for a run; its weights are going to be sent."""
    config = folder.read_config()
    admit(config.model_dump(), [folder.path / "code"], trust=True, owner="")
    task = replace(folder.read_task(), **learned)
    model = task.build(config)
    freeze(model, config.init)
    task = add_teachers(config.train.teacher, task, model)
    return Learner(config, task, model)


def _follow(order: Order, learner: Learner, group: Group | None) -> Sums:
    """One worker's part of an update."""
    if group is None:
        sums = learner.learn(order.update, order.batches)
    else:
        average = partial(average_buffers, moving_buffers(learner.model), group)
        sums = learner.learn(order.update, order.batches, worker=group.worker, learned=average)
        checked = order.rate is not None and order.update % CHECKED == 0
        sums = add_up(learner, group, sums, checksum=learner.checksum() if checked else 0)
    if order.rate is None:
        learner.optimizer.zero_grad()
        return sums
    return replace(sums, moved=learner.descend(order.rate, sums.tokens))
