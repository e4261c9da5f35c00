"""What happens in a training, for whoever watches it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resumed:
    """Training goes on from a checkpoint; `skipped` names damaged ones that were passed over."""

    update: int
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Stepped:
    """One update was made."""

    update: int
    loss: float  # per target token, with smoothing
    tokens: int  # target tokens, without padding
    seconds: float
    learning_rate: float
    moved: bool = True  # False: the gradient was not a number, and the weights stayed as they were


@dataclass(frozen=True)
class Evaluated:
    """The held-out data was looked at."""

    update: int
    metrics: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Finished:
    """Training is over: all updates made, patience lost, or asked to stop (then it can go on later)."""

    update: int
    reason: str
    complete: bool


Event = Resumed | Stepped | Evaluated | Finished
