"""The events of a training, as the training loop yields them."""

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
class Validated:
    """The held-out data was measured."""

    update: int
    metrics: dict[str, float]  # valid_loss and those of the task
    best: bool  # whether the monitored metric was never better


@dataclass(frozen=True)
class Finished:
    """Training is over: all updates made, early stopping, or asked to stop (then it is not complete, and can go on)."""

    update: int
    reason: str
    complete: bool


Event = Resumed | Stepped | Validated | Finished
