"""The process group of a data-parallel training: what its processes add up and tell each other.

All communication is of numbers and JSON over gloo, which runs on any machine; nothing is pickled.
"""

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed
from torch._C._distributed_c10d import AllgatherOptions, AllreduceOptions, AllToAllOptions, BroadcastOptions

from seq2see.core.errors import ConfigError, Seq2SeeError

LOOPBACK = "127.0.0.1"
TIMEOUT = "SEQ2SEE_TIMEOUT"  # the environment variable with the seconds to wait for another process
MIN_PATIENCE_SECONDS = 300.0  # without it, beside PATIENCE times what the same work took in this process
PATIENCE = 10.0
POLL_SECONDS = 0.5  # between two moments in which signals are heard
UNLIMITED = timedelta(days=1000)
GRACE = timedelta(seconds=30)  # after which gloo gives up on its own, so that this process can end
AGAIN = "run the same command again to go on from the last checkpoint."


class LostError(Seq2SeeError):
    """Another process has ended, or the connection to it broke."""

    def __init__(self) -> None:
        super().__init__(f"another process of the training ended, or the connection to it broke; {AGAIN}")


class HungError(Seq2SeeError):
    """Another process does not answer, and has not ended."""

    def __init__(self) -> None:
        super().__init__(
            "another process of the training has not answered for minutes: it hangs, was stopped, or cannot be reached;"
            f" {AGAIN}"
        )


def read_patience() -> float:
    """Return the seconds that a process waits for the others: SEQ2SEE_TIMEOUT, or five minutes.

    Raises:
        ConfigError: SEQ2SEE_TIMEOUT is no positive number.
    """
    given = os.environ.get(TIMEOUT)
    if given is None:
        return MIN_PATIENCE_SECONDS
    try:
        seconds = float(given)
        timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        seconds = 0.0
    if not seconds > 0:
        raise ConfigError(f"{TIMEOUT} must be a positive number of seconds; got {given[:40]!r}.")
    return seconds


def connect_store(host: str, port: int, *, is_master: bool) -> Any:
    """Return the store over which processes find each other (a `TCPStore` of torch, whose types leave it out).

    Args:
        host: the machine that keeps the store.
        port: its port; 0 finds a free one.
        is_master: whether this process keeps the store.
    """
    c10d: Any = distributed
    timeout = timedelta(seconds=read_patience())
    return c10d.TCPStore(host, port, is_master=is_master, wait_for_workers=False, timeout=timeout)


def make_device(**place: str) -> Any:
    """Return a device of gloo, torch's library for sums over processes.

    Args:
        **place: the `hostname` (or address) of this machine, or the network `interface`.
    """
    c10d: Any = distributed
    return c10d.ProcessGroupGloo.create_device(**place)


class ProcessGroup:
    """The process group of a training as one process sees it.

    Args:
        store: the store over which the processes find each other, the same for all of them.
        rank: the rank of this process, from 0.
        workers: how many processes there are.
        device: the gloo device to communicate over; None takes the loopback interface.
        local: whether the process of rank 0 started all others. They wait for it without a limit, because they end
            with it, and its user may stop it (Ctrl-Z) for as long as they like.
    """

    def __init__(self, store: Any, rank: int, workers: int, *, device: Any = None, local: bool = False) -> None:
        self.rank, self.workers, self.local = rank, workers, local
        self._c10d: Any = distributed  # whose types leave out half of it
        options = self._c10d.ProcessGroupGloo._Options()
        options._devices = [device or make_device(hostname=LOOPBACK)]
        options._timeout = timedelta(seconds=read_patience())
        try:
            self._gloo = self._c10d.ProcessGroupGloo(store, rank, workers, options)
        except RuntimeError:
            raise LostError from None
        self._ended = time.monotonic()  # the last wait

    def sum(self, numbers: Tensor) -> None:
        """Replace a tensor by its sum over all processes, with the same bits everywhere.

        Args:
            numbers: a tensor of the same shape and type in every process; it is changed in place.

        Raises:
            LostError: a process has ended.
            HungError: a process does not answer.
        """
        self.start_sum(numbers)()

    def start_sum(self, numbers: Tensor) -> Callable[[], None]:
        """Begin to sum a tensor over all processes, and return at once.

        Args:
            numbers: a tensor of the same shape and type in every process; it is changed in place.

        Returns:
            A function that waits until the sum is there; it raises what `sum` raises.
        """
        return self._begin(self._gloo.allreduce, [numbers], AllreduceOptions())

    def sum_tree(self, numbers: Tensor) -> None:
        """Replace a tensor by its sum over all processes, added in pairs: ((0 + 1) + (2 + 3)) + ...

        The order of the additions is that of the ranks, so the bits are those of one process that adds the same way.
        Each process adds one piece of the tensor for all others, so that as much is sent as for any other sum.

        Args:
            numbers: a vector of the same length and type in every process; it is changed in place.
        """
        length = -(-len(numbers) // self.workers)
        padded = numbers.new_zeros(self.workers * length)
        padded[: len(numbers)] = numbers
        pieces = torch.empty_like(padded)
        self._begin(self._gloo.alltoall_base, pieces, padded, [], [], AllToAllOptions())()
        mine = add_pairs(list(pieces.view(self.workers, length)))
        numbers.copy_(torch.cat(self._gather(mine))[: len(numbers)])

    def exchange(self, value: object) -> list[Any]:
        """Return what all processes tell, by rank.

        Args:
            value: what this process tells the others, which can be written as JSON.
        """
        words = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        sizes = [int(size) for size in self._gather(torch.tensor([len(words)]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)
        padded[: len(words)] = words
        told = zip(self._gather(padded), sizes, strict=True)
        return [json.loads(bytes(each[:size].tolist())) for each, size in told]

    def hear(self, value: object = None) -> Any:
        """Return what the process of rank 0 tells all others.

        Args:
            value: what it tells, which can be written as JSON; the value of any other process is not looked at.
        """
        return self.exchange(value if self.rank == 0 else None)[0]

    def copy_first(self, numbers: Tensor) -> None:
        """Replace a tensor by that of the process of rank 0 (broadcast).

        Args:
            numbers: a tensor of the same shape and type in every process; it is changed in place.
        """
        self._begin(self._gloo.broadcast, [numbers], BroadcastOptions())()

    def _gather(self, numbers: Tensor) -> list[Tensor]:
        """Return the tensors of all processes, by rank."""
        tensors = [torch.empty_like(numbers) for _ in range(self.workers)]
        self._begin(self._gloo.allgather, [tensors], [numbers], AllgatherOptions())()
        return tensors

    def _begin(self, collective: Callable[..., Any], *arguments: Any) -> Callable[[], None]:
        """Begin a collective operation, whose last argument is its options; return the function that waits for it."""
        took = time.monotonic() - self._ended
        patience = read_patience() + PATIENCE * took
        arguments[-1].timeout = UNLIMITED if self.local else timedelta(seconds=patience) + GRACE
        try:
            work = collective(*arguments)
        except RuntimeError:
            raise LostError from None
        return lambda: self._wait(work, patience)

    def _wait(self, work: Any, patience: float) -> None:
        """Wait for an operation as long as it may reasonably take, and hear signals meanwhile.

        Only the time that this process spends waiting counts: it may have been stopped itself (Ctrl-Z), or the machine
        may have slept.
        """
        waited = 0.0
        try:
            while not _is_over(work, POLL_SECONDS):
                waited += POLL_SECONDS
                if waited >= patience and not (self.local and self.rank):
                    raise HungError
            work.wait()
        except RuntimeError as error:
            raise (HungError if "imed out" in str(error) else LostError) from None
        self._ended = time.monotonic()


def _is_over(work: Any, seconds: float) -> bool:
    """Wait for an operation for some seconds, and return whether it has ended, with or without an error."""
    try:
        work.wait(timedelta(seconds=seconds))
    except RuntimeError:  # of the operation, or because the time is over
        return bool(work.is_completed())
    return True


def add_pairs(terms: list[Tensor]) -> Tensor:
    """Return the sum of some tensors, added in pairs: ((0 + 1) + (2 + 3)) + ...

    Args:
        terms: the tensors, at least one; what is left over of an odd number joins the next round.
    """
    while len(terms) > 1:
        pairs = [left + right for left, right in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]
