"""Sums over the processes of a training: gradients, while the backward pass goes on, and what goes with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.training.learner import Sums
from seq2see.training.process_group import AGAIN, ProcessGroup

BUCKET_NUMBERS = 2**20  # of gradients in one sum: 4 MB of float32


@dataclass(frozen=True)
class UpdateStatus:
    """What a process tells the others beside its loss and gradients.

    Args:
        checksum: of its weights, which must be the same everywhere; 0 in all processes checks nothing.
        stop: whether it was asked to stop after this update.
        cancel: whether it takes part in this update only to end the others, without any change of the weights.
    """

    checksum: int = 0
    stop: bool = False
    cancel: bool = False


def share_status(group: ProcessGroup, status: UpdateStatus) -> UpdateStatus:
    """Return whether any process wants to stop or cancels the update.

    Args:
        group: the process group.
        status: what this process tells the others.

    Raises:
        Seq2SeeError: the weights differ between processes.
    """
    told = torch.tensor([status.checksum, status.stop, status.cancel], dtype=torch.double)
    group.sum(told)
    checksums, stop, cancel = told.tolist()
    if checksums != status.checksum * group.workers:
        raise Seq2SeeError(f"the weights must be the same in all processes of the training, but are not; {AGAIN}")
    return UpdateStatus(status.checksum, stop=stop > 0, cancel=cancel > 0)


class OverlappedSum:
    """Sums the gradients of a model over all processes, the last layers first, while the first ones are computed.

    Args:
        parameters: the parameters that learn, in the same order in every process.
        group: the process group.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], group: ProcessGroup) -> None:
        self.parameters, self._group = parameters, group
        self._buckets = [_Bucket(bucket) for bucket in _fill_buckets(parameters)]
        self._started = 0

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Start the sum of each bucket inside the `with` block as soon as the backward pass has its gradients."""
        handles = [
            parameter.register_post_accumulate_grad_hook(self._make_hook(bucket))
            for bucket in self._buckets
            for parameter in bucket.parameters
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def finish(self, sums: Sums) -> Sums:
        """Start the sums that have not begun, wait for all, and give every parameter its sum.

        Args:
            sums: the loss and tokens of this process.

        Returns:
            The sums over all processes.
        """
        self.start_rest()
        has_gradient = [float(parameter.grad is not None) for parameter in self.parameters]
        small = torch.tensor([sums.loss, sums.tokens, *has_gradient], dtype=torch.double)
        self._group.sum(small)
        loss, tokens, *counts = small.tolist()
        for bucket in self._buckets:
            bucket.finish()
        for parameter, count in zip(self.parameters, counts, strict=True):
            if not count:
                parameter.grad = None  # in no process
        self._started = 0
        return Sums(loss, int(tokens))

    def start_rest(self) -> None:
        """Start the sums that have not begun, which must come before any other sum of the process group."""
        self._start(len(self._buckets))

    def _make_hook(self, bucket: "_Bucket") -> Callable[[Tensor], None]:
        def count(_: Tensor) -> None:
            bucket.missing -= 1
            ready = self._started
            while ready < len(self._buckets) and self._buckets[ready].missing <= 0:
                ready += 1
            self._start(ready)

        return count

    def _start(self, end: int) -> None:
        """Start the sums of all buckets before `end`, which all processes start in the same order."""
        for bucket in self._buckets[self._started : end]:
            bucket.start(self._group)
        self._started = max(self._started, end)


@dataclass
class _Bucket:
    """Some parameters whose gradients are summed at once."""

    parameters: list[nn.Parameter]
    missing: int = field(init=False)
    flat: Tensor = field(init=False)
    wait: Callable[[], None] = field(init=False)

    def __post_init__(self) -> None:
        self.missing = len(self.parameters)

    def start(self, group: ProcessGroup) -> None:
        self.flat = flatten_gradients(self.parameters)
        self.wait = group.start_sum(self.flat)

    def finish(self) -> None:
        self.wait()
        give_gradients(self.parameters, self.flat)
        self.missing = len(self.parameters)


def _fill_buckets(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Yield the parameters of each bucket, the last ones first, for their gradients come first."""
    bucket: list[nn.Parameter] = []
    for parameter in reversed(parameters):
        if bucket and sum(each.numel() for each in bucket) + parameter.numel() > BUCKET_NUMBERS:
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket


def flatten_gradients(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return all gradients as one vector on the CPU, zeros where there is none.

    Args:
        parameters: the parameters.
    """
    grads = [(torch.zeros_like(each) if each.grad is None else each.grad).flatten() for each in parameters]
    return torch.cat(grads).cpu()


def give_gradients(parameters: Sequence[nn.Parameter], flat: Tensor) -> None:
    """Give parameters the gradients that `flatten_gradients` made a vector of.

    Args:
        parameters: the parameters.
        flat: the vector.
    """
    for parameter, gradient in zip(parameters, flat.split([each.numel() for each in parameters]), strict=True):
        parameter.grad = gradient.view_as(parameter).to(parameter.device, parameter.dtype)


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
    if buffers:
        flat = weigh_buffers(buffers, tokens, first=group.rank == 0)
        group.sum(flat)
        give_buffers(buffers, flat)


def weigh_buffers(buffers: Sequence[Tensor], tokens: int, *, first: bool) -> Tensor:
    """Return buffers as a vector that can be summed: tokens, then every float times the tokens, and each integer.

    Args:
        buffers: the buffers after a part of a batch.
        tokens: the tokens of this part.
        first: whether it is the first part, whose integers are taken.
    """
    shares = [tokens if buffer.is_floating_point() else int(first) for buffer in buffers]
    parts = [(buffer.double() * share).flatten().cpu() for buffer, share in zip(buffers, shares, strict=True)]
    return torch.cat([torch.tensor([tokens], dtype=torch.double), *parts])


def give_buffers(buffers: Sequence[Tensor], flat: Tensor) -> None:
    """Give buffers their mean over all tokens; without any token they stay as they are.

    Args:
        buffers: the buffers; they are changed in place.
        flat: the sum of what `weigh_buffers` returned for each part.
    """
    if not flat[0]:
        return
    for buffer, total in zip(buffers, flat[1:].split([buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_((total / flat[0] if buffer.is_floating_point() else total).view_as(buffer))
