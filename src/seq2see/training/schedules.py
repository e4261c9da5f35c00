"""Learning-rate schedules: a factor on the base rate for every update (counted from 1)."""

import math
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt

Warmup = Annotated[int, Ge(0)]


class Schedule:
    """Base of the schedules; what `state` gives is saved with a checkpoint."""

    peak = 1.0  # the largest factor

    def factor(self, update: int) -> float:
        """What the base rate is multiplied with."""
        raise NotImplementedError

    def observe(self, loss: float) -> None:
        """Hear of a held-out loss."""

    def state(self) -> dict[str, Any]:
        """What must survive a restart."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""


class ConstantSchedule(Schedule):
    """The base rate, after a linear warm-up."""

    def __init__(self, *, warmup: Warmup = 0) -> None:
        self.warmup = warmup

    def factor(self, update: int) -> float:
        return _warm(update, self.warmup)


class NoamSchedule(Schedule):
    """Vaswani et al. 2017, eq. 3: size^-0.5 min(n^-0.5, n warmup^-1.5)."""

    def __init__(self, *, size: int, warmup: Annotated[int, Ge(1)] = 4000) -> None:
        self.size, self.warmup = size, warmup
        self.peak = float((size * warmup) ** -0.5)

    def factor(self, update: int) -> float:
        return float(self.size**-0.5 * min(update**-0.5, update * self.warmup**-1.5))


class InverseSqrtSchedule(Schedule):
    """Up to the base rate in `warmup` updates, then down with the square root of the update."""

    def __init__(self, *, warmup: Annotated[int, Ge(1)] = 4000) -> None:
        self.warmup = warmup

    def factor(self, update: int) -> float:
        return min(update / self.warmup, math.sqrt(self.warmup / update))


class CosineSchedule(Schedule):
    """Up in `warmup` updates, then down along half a cosine to `floor` times the base rate at the last update."""

    def __init__(self, *, updates: int, warmup: Warmup = 0, floor: Annotated[float, Ge(0), Lt(1)] = 0.0) -> None:
        self.updates, self.warmup, self.floor = updates, warmup, floor

    def factor(self, update: int) -> float:
        if update < self.warmup:
            return _warm(update, self.warmup)
        done = min((update - self.warmup) / max(self.updates - self.warmup, 1), 1.0)
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * done))


class PlateauSchedule(Schedule):
    """Multiply by `shrink` whenever the held-out loss has not fallen for `patience` looks."""

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
