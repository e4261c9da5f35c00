"""The events of a training, as the training loop yields them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resumed:
    """Training goes on from a checkpoint.

    Args:
        update: the number of updates that the checkpoint has seen.
        skipped: a sentence for each newer checkpoint that was damaged and passed over.
    """

    update: int
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Stepped:
    """One update was made.

    Args:
        update: its number, from 1.
        loss: the mean training loss of a target token (of a source, for labels), with label smoothing and all terms of
            the objective.
        tokens: how many target tokens (or sources, for labels) the update was made from, without padding.
        seconds: the time it took.
        learning_rate: the rate of this update, after the schedule.
        moved: False if the gradient was not finite, so that the weights stayed as they were.
    """

    update: int
    loss: float
    tokens: int
    seconds: float
    learning_rate: float
    moved: bool = True


@dataclass(frozen=True)
class Validated:
    """The validation data was measured.

    Args:
        update: the number of updates made before.
        metrics: `valid_loss` and the metrics of the task by name.
        best: whether the monitored metric is the best one so far, so that these weights were kept.
    """

    update: int
    metrics: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Finished:
    """Training is over: all updates are made, it stopped early, or it was asked to stop.

    Args:
        update: the number of updates made.
        reason: why it is over, and which weights were kept, in words.
        complete: False if it was asked to stop, so that it can go on.
    """

    update: int
    reason: str
    complete: bool


Event = Resumed | Stepped | Validated | Finished
