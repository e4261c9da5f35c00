"""Evenness: a loss that wants every place of a source to be looked at as much as any other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import AttentionError, ConfigError
from seq2see.core.trace import Trace, tracing


@contextmanager
def watching(model: nn.Module, *, wanted: bool) -> Iterator[Trace | None]:
    """A trace of the model inside the block, if one is wanted."""
    if not wanted:
        yield None
        return
    try:
        with tracing(model) as trace:
            yield trace
    except AttentionError as error:
        raise _refuse() from error


def measure_unevenness(
    trace: Trace, source_mask: Bool[Tensor, "b s"], target_mask: Bool[Tensor, "b t"]
) -> Float[Tensor, ""]:
    """Xu et al. 2015, eq. 14: sum_i (1 - sum_t alpha_ti)^2 over the real places of all sources.

    Weights count for real targets only; the mean over heads and Attends that look at the source.
    """
    maps = [trace.weights(name) for name in trace.source_names]
    shape = (*target_mask.shape, source_mask.shape[1])
    fitting = [weights.mean(dim=1) for weights in maps if (weights.shape[0], *weights.shape[2:]) == shape]
    if not fitting:
        raise _refuse()
    paid = [(weights * target_mask.unsqueeze(2)).sum(dim=1) for weights in fitting]
    return torch.stack([((1 - sums).square() * source_mask).sum() for sums in paid]).mean()


def _refuse() -> ConfigError:
    return ConfigError(
        "train.attention_penalty needs a decoder that attends to every place of its source; leave it out.",
        path=("train", "attention_penalty"),
    )
