"""Exponential moving average (EMA) of the weights.

It is kept in the state of the optimizer, beside Adam's own averages, so that it is saved and restored with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, optim

KEY = "average"


def keep_average(optimizer: optim.Optimizer, *, decay: float) -> None:
    """Keep an exponential moving average: after every optimizer step, average <- d * average + (1 - d) * weights.

    In the first steps d is smaller than `decay`, (1 + steps) / (10 + steps), so that the initial weights are soon
    forgotten.

    Args:
        optimizer: the optimizer to hook into; its state holds the averages.
        decay: the largest d, above 0 and below 1.
    """

    def move(*_: object) -> None:
        states = {parameter: state for parameter, state in optimizer.state.items() if state}
        for parameter, state in states.items():
            if KEY not in state:
                state[KEY] = parameter.detach().clone()
        if states:
            steps = float(next(iter(states.values()))["step"])
            kept = min(decay, (1 + steps) / (10 + steps))
            torch._foreach_lerp_([state[KEY] for state in states.values()], [p.detach() for p in states], 1 - kept)

    optimizer.register_step_post_hook(move)


@contextmanager
def averaged(optimizer: optim.Optimizer) -> Iterator[None]:
    """Give the model its averaged weights inside a `with` block, and its own ones again after it.

    Args:
        optimizer: the optimizer of the model; nothing changes if it keeps no average.
    """
    averages: dict[Tensor, Tensor] = {p: state[KEY] for p, state in optimizer.state.items() if KEY in state}
    current = {parameter: parameter.detach().clone() for parameter in averages}
    _put(averages)
    try:
        yield
    finally:
        _put(current)


@torch.no_grad()
def _put(values: dict[Tensor, Tensor]) -> None:
    for parameter, value in values.items():
        parameter.copy_(value)
