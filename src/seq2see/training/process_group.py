"""The process group of a data-parallel training: sums over all workers, of gradients and of buffers that move."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.training.learner import Learner, NetworkT, Sums

CONNECT_TIMEOUT = timedelta(minutes=2)  # for all workers to connect, once each has said that it is ready
SUM_TIMEOUT = timedelta(days=1000)  # a worker that ends is noticed without one, and a machine may sleep
POLL_SECONDS = 0.5  # between two moments in which signals are heard
MIN_PATIENCE_SECONDS = 300.0  # to wait for a worker, beside PATIENCE times what the same work took in this process
PATIENCE = 10.0
AGAIN = "run the same command again to go on from the last checkpoint, or take fewer train.workers in another folder."


class LostError(Exception):
    """A sum cannot be made, because a worker has ended."""


class HungError(Seq2SeeError):
    """A worker does not answer, and has not ended."""

    def __init__(self) -> None:
        super().__init__(
            f"a process that shares the training has not answered for minutes: it hangs, or was stopped; {AGAIN}"
        )


def await_answer(wait: Callable[[float], bool], *, took: float) -> None:
    """Wait for a worker as long as it may reasonably take, and hear signals meanwhile.

    Only the time that this process spends waiting counts: both may have been stopped together (Ctrl-Z), or the machine
    may have slept.

    Args:
        wait: waits for the answer for some seconds, and returns whether there is one.
        took: the seconds that the same work took in this process.

    Raises:
        HungError: there was no answer.
    """
    waited = 0.0
    while not wait(POLL_SECONDS):
        waited += POLL_SECONDS
        if waited >= MIN_PATIENCE_SECONDS + PATIENCE * took:
            raise HungError


class ProcessGroup:
    """The process group of a training as one process sees it; it uses this machine's loopback interface alone.

    Args:
        file: a new file, the same for all processes, over which they find each other.
        rank: the rank of this process, from 0 (the main one).
        workers: how many processes there are.
    """

    def __init__(self, file: Path, rank: int, workers: int) -> None:
        self.rank, self.workers = rank, workers
        c10d: Any = distributed  # whose types leave out half of it
        options = c10d.ProcessGroupGloo._Options()
        options._devices = [c10d.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        options._timeout = CONNECT_TIMEOUT
        try:
            self._gloo = c10d.ProcessGroupGloo(c10d.FileStore(str(file), workers), rank, workers, options)
        except RuntimeError as error:
            raise LostError from error
        self._ended = time.monotonic()  # the last sum

    def sum(self, numbers: Tensor) -> None:
        """Replace a tensor by its sum over all processes, with the same bits everywhere.

        Args:
            numbers: a tensor of the same shape and type in every process; it is changed in place.

        Raises:
            LostError: a process has ended.
            HungError: this is the main process, and another one does not answer.
        """
        options = distributed.AllreduceOptions()
        options.timeout = SUM_TIMEOUT
        took = time.monotonic() - self._ended
        work = self._gloo.allreduce([numbers], options)
        try:
            if self.rank == 0:
                await_answer(lambda seconds: _wait(work, seconds), took=took)
            work.wait()
        except RuntimeError as error:
            raise LostError from error
        self._ended = time.monotonic()


def _wait(work: Any, seconds: float) -> bool:
    """Wait for a sum for some seconds, and return whether it has ended, with or without an error."""
    try:
        work.wait(timedelta(seconds=seconds))
    except RuntimeError:  # of the sum, or because the time is over
        return bool(work.is_completed())
    return True


def add_up(learner: Learner[NetworkT], group: ProcessGroup, mine: Sums, *, checksum: int) -> Sums:
    """Sum losses, tokens and gradients over all processes.

    Args:
        learner: the learner of this process, with the gradients of its part.
        group: the process group.
        mine: the loss and tokens of this process.
        checksum: of the weights of this process, which must be the same everywhere; 0 in all processes checks nothing.

    Raises:
        Seq2SeeError: the weights differ between processes.
    """
    learned = [parameter for parameter in learner.model.parameters() if parameter.requires_grad]
    has_gradient = [float(parameter.grad is not None) for parameter in learned]
    small = torch.tensor([mine.loss, mine.tokens, checksum, *has_gradient], dtype=torch.double)
    group.sum(small)
    loss, tokens, checksums, *counts = small.tolist()
    if checksums != checksum * group.workers:
        raise Seq2SeeError(
            "the weights must be the same in all processes that share the training, but are not; run the same command "
            "again to go on from the last checkpoint."
        )
    _sum_gradients([parameter for parameter, count in zip(learned, counts, strict=True) if count], group)
    return Sums(loss, int(tokens))


def _sum_gradients(parameters: Sequence[nn.Parameter], group: ProcessGroup) -> None:
    """Sum all gradients at once; a process without a gradient adds zeros."""
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
    group.sum(flat)
    for parameter, gradient in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = gradient.view_as(parameter).to(parameter.dtype)


def moving_buffers(model: nn.Module) -> list[Tensor]:
    """Return the buffers of a model that are saved with it, because an objective may change them (running averages).

    Args:
        model: the model.
    """
    saved = model.state_dict().keys()
    return [buffer for name, buffer in model.named_buffers() if name in saved]


def average_buffers(buffers: Sequence[Tensor], group: ProcessGroup, tokens: int) -> None:
    """Make buffers the same in all processes: their mean over all tokens of a batch; integers as rank 0 has them.

    Args:
        buffers: the buffers of this process; they are changed in place.
        group: the process group.
        tokens: the tokens of this process's part of the batch, which weigh its buffers; 0 if it had none.
    """
    if not buffers:
        return
    shares = [tokens if buffer.is_floating_point() else int(group.rank == 0) for buffer in buffers]
    parts = [(buffer.double() * share).flatten() for buffer, share in zip(buffers, shares, strict=True)]
    flat = torch.cat([torch.tensor([tokens], dtype=torch.double), *parts])
    group.sum(flat)
    for buffer, total in zip(buffers, flat[1:].split([buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_((total / flat[0] if buffer.is_floating_point() else total).view_as(buffer))
