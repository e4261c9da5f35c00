"""An ensemble: several models that decode one output together."""

from collections.abc import Sequence
from math import log

import torch
from torch import Tensor

from seq2see.search.hypothesis import Fixed, State, Step


def average(steps: Sequence[Step[State, Fixed]]) -> Step[tuple[State, ...], tuple[Fixed, ...]]:
    """Return one step function from those of several models: log p = log mean_m p_m.

    Its state is the tuple of their states, and its fixed part the tuple of theirs.

    Args:
        steps: one step function for each model; all over the same vocabulary.
    """

    def step(tokens: Tensor, states: tuple[State, ...], fixed: tuple[Fixed, ...]) -> tuple[Tensor, tuple[State, ...]]:
        results = [one(tokens, state, part) for one, state, part in zip(steps, states, fixed, strict=True)]
        logprobs = torch.stack([logits.log_softmax(dim=-1) for logits, _ in results])
        return logprobs.logsumexp(dim=0) - log(len(steps)), tuple(state for _, state in results)

    return step
