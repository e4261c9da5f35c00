"""Where a training is, as its checkpoints record it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import JsonValue, TypeAdapter, ValidationError

from seq2see.config.schema import Train
from seq2see.config.section import MAX_PROCESSES
from seq2see.core.errors import CheckpointError

MAX_UPDATES = 100_000_000  # of a training that anybody waited for

Position = Annotated[int, Ge(0), Le(MAX_UPDATES)]
Processes = Annotated[int, Ge(1), Le(MAX_PROCESSES)]
Number = int | float


@dataclass(frozen=True)
class TrainingState:
    """The position of a training; together with the tensors, all that is needed to go on bit for bit.

    Args:
        update: the number of updates made.
        epoch: the epoch of the next batch, from 0.
        batch: the position of the next batch in the plan of the epoch, from 0.
        best: the lowest value so far of the monitored metric, negated where more is better; None before the first
            validation with a finite one.
        without_improvement: the number of validations since the best one.
        complete: whether the training is over, so that it does not go on until its limits are raised.
    """

    update: Position = 0
    epoch: Position = 0
    batch: Position = 0
    best: float | None = None
    without_improvement: Position = 0
    complete: bool = False

    def after_update(self, update: int, epoch: int, batch: int) -> "TrainingState":
        """Return the state after one more update.

        Args:
            update: the number of updates made, this one included.
            epoch: the epoch of the next batch.
            batch: the position of the next batch in it.
        """
        return replace(self, update=update, epoch=epoch, batch=batch)

    def after_validation(self, value: float, *, best: bool) -> "TrainingState":
        """Return the state after a validation.

        Args:
            value: the monitored metric, negated where more is better.
            best: whether it is the best so far.
        """
        if best:
            return replace(self, best=value, without_improvement=0)
        return replace(self, without_improvement=self.without_improvement + 1)

    def stops_early(self, patience: int) -> bool:
        """Return whether the last `patience` validations brought no improvement (early stopping).

        Args:
            patience: option train.patience; 0 never stops early.
        """
        return 0 < patience <= self.without_improvement

    def to_json(self) -> dict[str, JsonValue]:
        """Return the state as a checkpoint records it."""
        return asdict(self)


def say_limits(train: Train) -> dict[str, JsonValue]:
    """Return the options that decide when a training is complete; one that is complete goes on when they are raised.

    Args:
        train: section `train` of the configuration.
    """
    return {"updates": train.updates, "patience": train.patience}


@dataclass(frozen=True)
class SavedPlan:
    """The processes of a training as a checkpoint records them.

    Args:
        workers: how many processes share every batch.
        threads: the threads of each process.
    """

    workers: Processes
    threads: Processes


@dataclass(frozen=True)
class SavedProgress:
    """What a checkpoint records of a training beside its tensors.

    Args:
        fingerprint: the fingerprint of the training data.
        state: the position of the training.
        limits: what `say_limits` returned when the checkpoint was written.
        schedule: the state of the learning-rate schedule.
        held_out: the fingerprint of the held-out data; None if it was not recorded.
        team: the processes; None if they were not recorded.
        sums: the sums over the updates since the last validation.
    """

    fingerprint: str
    state: TrainingState
    limits: JsonValue
    schedule: dict[str, Number]
    held_out: str | None = None
    team: SavedPlan | None = None
    sums: dict[Literal["losses", "tokens", "seconds"], Number] = field(default_factory=dict)

    def go_on(self, train: Train) -> TrainingState:
        """Return the position to go on from; it is complete only while the limits are those of the configuration.

        Args:
            train: section `train` of the configuration of the training that goes on.
        """
        return replace(self.state, complete=self.state.complete and self.limits == say_limits(train))


def read_progress(facts: Mapping[str, JsonValue], *, file: Path) -> SavedProgress:
    """Read what a checkpoint recorded of a training.

    Args:
        facts: the facts of the checkpoint.
        file: the checkpoint, for errors.

    Raises:
        CheckpointError: they are none that a training writes.
    """
    try:
        return TypeAdapter(SavedProgress).validate_python(facts)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"][:2]))
        raise CheckpointError(
            f"{file}: the checkpoint must say where its training was; got {place} of another kind; train again in "
            "another folder."
        ) from None


def judge(metrics: Mapping[str, float], monitor: str) -> float:
    """Return the monitored metric of a validation, negated where more is better, so that less is always better.

    Args:
        metrics: what the validation measured, by name.
        monitor: option train.monitor. Without a finite validation loss, nothing is good.
    """
    value = metrics[monitor] if monitor in ("valid_loss", "cer") else -metrics[monitor]
    return value if math.isfinite(metrics["valid_loss"]) else math.inf
