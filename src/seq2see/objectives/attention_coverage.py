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
    """Xu et al. 2015, eq. 14 (arXiv:1502.03044): weight * sum_i (1 - sum_t alpha_ti)^2.

    alpha_ti is the attention of target token t to source position i.

    Args:
        weight: lambda of the equation.
    """

    reads_attention: ClassVar[bool] = True

    def __init__(self, *, weight: float) -> None:
        self.weight = weight

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """The loss with the penalty on attention that is paid unevenly."""
        if forward.trace is None:
            raise _need_attention()
        return total + self.weight * coverage_penalty(forward.trace, forward.memory.mask, forward.batch.target_mask)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Trace]:
    """Record the attention weights of a model inside the block; a model without attention is refused."""
    try:
        with tracing(model) as trace:
            yield trace
    except AttentionError as error:
        raise _need_attention() from error


def coverage_penalty(
    trace: Trace, source_mask: Bool[Tensor, "b s"], target_mask: Bool[Tensor, "b t"]
) -> Float[Tensor, ""]:
    """sum_i (1 - sum_t alpha_ti)^2 over the real positions of all sources, and over real target tokens only.

    It is the mean over the heads and attention layers that attend to the source.
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
