"""Doubly stochastic attention regularisation: every position of a source gets as much attention as any other."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import AttentionError, ConfigError
from seq2see.core.trace import Trace, tracing
from seq2see.objectives.forward_pass import ForwardPass, LossTerm


class AttentionCoverage(LossTerm):
    """Adds the doubly stochastic attention regularisation weight * sum_i (1 - sum_t alpha_ti)^2 to a loss.

    Xu et al. 2015 (arXiv:1502.03044), eq. 14; alpha_ti is the attention of target token t to source position i.

    Args:
        weight: lambda of the equation.
    """

    reads_attention: ClassVar[bool] = True

    def __init__(self, *, weight: float) -> None:
        self.weight = weight

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """Return the loss with the regularisation term."""
        if forward.trace is None:
            raise _need_attention()
        return total + self.weight * coverage_penalty(forward.trace, forward.memory.mask, forward.batch.target_mask)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Trace]:
    """Record the attention weights of a model inside the block.

    Args:
        model: the model that runs inside the block.

    Yields:
        The trace, through whose weights gradients flow.

    Raises:
        ConfigError: if the model recorded no attention.
    """
    try:
        with tracing(model) as trace:
            yield trace
    except AttentionError as error:
        raise _need_attention() from error


def coverage_penalty(
    trace: Trace, source_mask: Bool[Tensor, "b s"], target_mask: Bool[Tensor, "b t"]
) -> Float[Tensor, ""]:
    """Return sum_i (1 - sum_t alpha_ti)^2 over the real source positions i and target tokens t, summed over a batch.

    It is the mean over the heads and the attention layers whose weights have the shape [b h t s].

    Args:
        trace: the attention of a forward pass over the batch.
        source_mask: True at real positions of the memory, [b s].
        target_mask: True at target tokens, [b t].

    Raises:
        ConfigError: if no layer attends to every position of the memory.
    """
    maps = [trace.weights(name) for name in trace.source_names]
    shape = (*target_mask.shape, source_mask.shape[1])
    fitting = [weights.mean(dim=1) for weights in maps if (weights.shape[0], *weights.shape[2:]) == shape]
    if not fitting:
        raise _need_attention()
    coverage = [(weights * target_mask.unsqueeze(2)).sum(dim=1) for weights in fitting]
    return torch.stack([((1 - sums).square() * source_mask).sum() for sums in coverage]).mean()


def _need_attention() -> ConfigError:
    return ConfigError(
        "train.doubly_stochastic_attention needs a decoder that attends to every position of its source; leave it out.",
        path=("train", "doubly_stochastic_attention"),
    )
