"""The process group of a data-parallel training: sums over all workers, of gradients and of buffers that move."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.training.learner import Learner, NetworkT, Sums

CONNECT_TIMEOUT = timedelta(minutes=10)  # for all workers to connect, once each has said that it is ready
SUM_TIMEOUT = timedelta(days=1000)  # a worker that ends is noticed without one, and a machine may sleep


class LostError(Exception):
    """A sum cannot be made, because a worker has ended."""


class ProcessGroup:
    """All workers, as one of them sees them; they talk through this machine's loopback interface alone.

    Args:
        file: a new file over which the workers find each other.
        rank: of this worker, from 0.
        workers: how many there are.
    """

    def __init__(self, file: Path, rank: int, workers: int) -> None:
        self.rank, self.workers = rank, workers
        c10d: Any = distributed  # whose types leave out half of it
        options = c10d.ProcessGroupGloo._Options()
        options._devices = [c10d.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        options._timeout = CONNECT_TIMEOUT
        self._gloo = c10d.ProcessGroupGloo(c10d.FileStore(str(file), workers), rank, workers, options)

    def sum(self, numbers: Tensor) -> None:
        """Replace each worker's numbers by their sum over all workers, with the same bits everywhere."""
        options = distributed.AllreduceOptions()
        options.timeout = SUM_TIMEOUT
        try:
            self._gloo.allreduce([numbers], options).wait()
        except RuntimeError as error:
            raise LostError from error


def add_up(learner: Learner[NetworkT], group: ProcessGroup, mine: Sums, *, checksum: int) -> Sums:
    """Sum losses, tokens and gradients over all workers.

    Args:
        learner: of this worker, with the gradients of its part.
        group: of all workers.
        mine: the sums of this worker.
        checksum: of this worker's weights; workers whose checksums differ are an error.
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
    """Sum all gradients at once; where this worker has none, it adds zeros."""
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
    group.sum(flat)
    for parameter, gradient in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = gradient.view_as(parameter).to(parameter.dtype)


def moving_buffers(model: nn.Module) -> list[Tensor]:
    """The buffers of a model that are saved with it: an objective may move them, as averages over what was seen."""
    saved = model.state_dict().keys()
    return [buffer for name, buffer in model.named_buffers() if name in saved]


def average_buffers(buffers: Sequence[Tensor], group: ProcessGroup, tokens: int) -> None:
    """Make buffers the same in all workers: their mean over all tokens of a batch; integers as rank 0 has them."""
    if not buffers:
        return
    shares = [tokens if buffer.is_floating_point() else int(group.rank == 0) for buffer in buffers]
    parts = [(buffer.double() * share).flatten() for buffer, share in zip(buffers, shares, strict=True)]
    flat = torch.cat([torch.tensor([tokens], dtype=torch.double), *parts])
    group.sum(flat)
    for buffer, total in zip(buffers, flat[1:].split([buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_((total / flat[0] if buffer.is_floating_point() else total).view_as(buffer))
