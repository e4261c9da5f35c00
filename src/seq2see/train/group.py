"""The group of all workers of a training: sums over them, of gradients and of what else a loss moves."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.train.learner import Learner, Sums

MEETING = timedelta(minutes=10)  # for all to find each other, once each has said that it is ready
FOREVER = timedelta(days=1000)  # for a sum: a worker that ends is noticed without, and a machine may sleep


class LostError(Exception):
    """A sum cannot be made, because a process is gone."""


class Group:
    """All workers, as one of them sees them; they talk through this machine's loopback alone."""

    def __init__(self, place: Path, worker: int, workers: int) -> None:
        self.worker, self.workers = worker, workers
        c10d: Any = distributed  # whose types leave out half of it
        options = c10d.ProcessGroupGloo._Options()
        options._devices = [c10d.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        options._timeout = MEETING
        self._gloo = c10d.ProcessGroupGloo(c10d.FileStore(str(place), workers), worker, workers, options)

    def sum(self, numbers: Tensor) -> None:
        """Put the sum over all workers into each worker's numbers, with the same bits everywhere."""
        options = distributed.AllreduceOptions()
        options.timeout = FOREVER
        try:
            self._gloo.allreduce([numbers], options).wait()
        except RuntimeError as error:
            raise LostError from error


def add_up(learner: Learner, group: Group, mine: Sums, *, checksum: int) -> Sums:
    """Sum losses, tokens and gradients over all workers."""
    learned = [parameter for parameter in learner.model.parameters() if parameter.requires_grad]
    moved = [float(parameter.grad is not None) for parameter in learned]
    small = torch.tensor([mine.loss, mine.tokens, checksum, *moved], dtype=torch.double)
    group.sum(small)
    loss, tokens, checksums, *by_any = small.tolist()
    if checksums != checksum * group.workers:
        raise Seq2SeeError(
            "the weights must be the same in all processes that share the training, but are not; run the same command "
            "again to go on from the last checkpoint."
        )
    _sum_gradients([parameter for parameter, count in zip(learned, by_any, strict=True) if count], group)
    return Sums(loss, int(tokens))


def _sum_gradients(parameters: Sequence[nn.Parameter], group: Group) -> None:
    """Sum all gradients in one go; where this worker has none, it adds zeros."""
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
    group.sum(flat)
    for parameter, gradient in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = gradient.view_as(parameter).to(parameter.dtype)


def moving_buffers(model: nn.Module) -> list[Tensor]:
    """What is saved of a model and no parameter: a loss may move it, as averages over what was seen."""
    kept = model.state_dict().keys()
    return [buffer for name, buffer in model.named_buffers() if name in kept]


def average_buffers(buffers: Sequence[Tensor], group: Group, tokens: int) -> None:
    """Make buffers the same in all workers: their mean over all tokens of a batch; what counts, as worker 0 has it."""
    if not buffers:
        return
    shares = [tokens if buffer.is_floating_point() else int(group.worker == 0) for buffer in buffers]
    parts = [(buffer.double() * share).flatten() for buffer, share in zip(buffers, shares, strict=True)]
    flat = torch.cat([torch.tensor([tokens], dtype=torch.double), *parts])
    group.sum(flat)
    for buffer, total in zip(buffers, flat[1:].split([buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_((total / flat[0] if buffer.is_floating_point() else total).view_as(buffer))
