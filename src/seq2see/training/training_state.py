"""Where a training is, as its checkpoints record it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import JsonValue, TypeAdapter

from seq2see.config.schema import Train


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

    update: int = 0
    epoch: int = 0
    batch: int = 0
    best: float | None = None
    without_improvement: int = 0
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


def read_state(saved: Mapping[str, JsonValue], limits: object, train: Train) -> TrainingState:
    """Read the state that a checkpoint recorded; it is complete only while its limits are those of the configuration.

    Args:
        saved: what `to_json` returned.
        limits: what `say_limits` returned when the checkpoint was written.
        train: section `train` of the configuration of the training that goes on.
    """
    state = TypeAdapter(TrainingState).validate_python(saved)
    return replace(state, complete=state.complete and limits == say_limits(train))
