"""Several models that write one output together."""

from collections.abc import Sequence
from math import log
from typing import Any

import torch
from torch import Tensor

from seq2see.search.hypothesis import Step


def average(steps: Sequence[Step]) -> Step:
    """One step function from several over the same vocabulary: log p = log mean_m p_m.

    Its state is the tuple of their states, and its fixed part the tuple of theirs.
    """

    def step(tokens: Tensor, states: tuple[Any, ...], fixed: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        said = [one(tokens, state, part) for one, state, part in zip(steps, states, fixed, strict=True)]
        logprobs = torch.stack([logits.log_softmax(dim=-1) for logits, _ in said])
        return logprobs.logsumexp(dim=0) - log(len(steps)), tuple(state for _, state in said)

    return step
