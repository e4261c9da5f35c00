"""Learning-rate schedules: a factor on the base rate (train.learning_rate) for every update, counted from 1."""

import math
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt

Warmup = Annotated[int, Ge(0)]


class Schedule:
    """The base of all schedules; what `state` returns is saved with a checkpoint."""

    peak = 1.0  # the largest factor

    def factor(self, update: int) -> float:
        """Return the factor on the base learning rate.

        Args:
            update: the number of the update, from 1.
        """
        raise NotImplementedError

    def observe(self, loss: float) -> None:
        """Take the result of a validation into account; most schedules ignore it.

        Args:
            loss: the validation loss.
        """

    def state(self) -> dict[str, Any]:
        """Return what must be saved to go on with the schedule."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state.

        Args:
            state: what `state` returned.
        """


class ConstantSchedule(Schedule):
    """Keep the base learning rate, after a linear warmup.

    Args:
        warmup: updates in which the rate rises from 0 to the base rate; 0: none.
    """

    def __init__(self, *, warmup: Warmup = 0) -> None:
        self.warmup = warmup

    def factor(self, update: int) -> float:
        return _warm(update, self.warmup)


class NoamSchedule(Schedule):
    """Rise linearly, then fall with the square root of the update n: size^-0.5 min(n^-0.5, n warmup^-1.5).

    Vaswani et al. 2017 (arXiv:1706.03762), eq. 3. The base rate (train.learning_rate) multiplies this, and is about 1.

    Args:
        size: the width of the model, d_model of the paper.
        warmup: updates until the rate is highest.
    """

    def __init__(self, *, size: int, warmup: Annotated[int, Ge(1)] = 4000) -> None:
        self.size, self.warmup = size, warmup
        self.peak = float((size * warmup) ** -0.5)

    def factor(self, update: int) -> float:
        return float(self.size**-0.5 * min(update**-0.5, update * self.warmup**-1.5))


class InverseSqrtSchedule(Schedule):
    """Rise linearly to the base learning rate, then fall with the square root of the update.

    Args:
        warmup: updates until the rate is highest.
    """

    def __init__(self, *, warmup: Annotated[int, Ge(1)] = 4000) -> None:
        self.warmup = warmup

    def factor(self, update: int) -> float:
        return min(update / self.warmup, math.sqrt(self.warmup / update))


class CosineSchedule(Schedule):
    """Rise linearly to the base learning rate, then fall along half a cosine until the last update.

    Args:
        updates: the number of updates of the training.
        warmup: updates in which the rate rises from 0 to the base rate; 0: none.
        floor: the factor at the last update, at least 0 and below 1.
    """

    def __init__(self, *, updates: int, warmup: Warmup = 0, floor: Annotated[float, Ge(0), Lt(1)] = 0.0) -> None:
        self.updates, self.warmup, self.floor = updates, warmup, floor

    def factor(self, update: int) -> float:
        if update < self.warmup:
            return _warm(update, self.warmup)
        done = min((update - self.warmup) / max(self.updates - self.warmup, 1), 1.0)
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * done))


class PlateauSchedule(Schedule):
    """Lower the learning rate whenever the validation loss has stopped falling.

    Args:
        shrink: what the rate is multiplied with, between 0 and 1.
        patience: validations without a lower loss before the rate is lowered.
        warmup: updates in which the rate rises from 0 to the base rate; 0: none.
    """

    def __init__(
        self,
        *,
        shrink: Annotated[float, Gt(0), Lt(1)] = 0.5,
        patience: Annotated[int, Ge(1)] = 2,
        warmup: Warmup = 0,
    ) -> None:
        self.shrink, self.patience, self.warmup = shrink, patience, warmup
        self._best, self._waited, self._level = math.inf, 0, 1.0

    def factor(self, update: int) -> float:
        return self._level * _warm(update, self.warmup)

    def observe(self, loss: float) -> None:
        if loss < self._best:
            self._best, self._waited = loss, 0
            return
        self._waited += 1
        if self._waited >= self.patience:
            self._level, self._waited = self._level * self.shrink, 0

    def state(self) -> dict[str, Any]:
        return {"best": self._best, "waited": self._waited, "level": self._level}

    def restore(self, state: dict[str, Any]) -> None:
        self._best, self._waited, self._level = state["best"], state["waited"], state["level"]


def _warm(update: int, warmup: int) -> float:
    return min(1.0, update / warmup) if warmup else 1.0
