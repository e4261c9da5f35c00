"""Where a training is, as its checkpoints record it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import JsonValue, TypeAdapter

from seq2see.config.schema import Train


@dataclass(frozen=True)
class TrainingState:
    """The position of a training; together with the tensors, all that is needed to go on bit for bit."""

    update: int = 0
    epoch: int = 0
    batch: int = 0  # position in the plan of the epoch
    best: float | None = None  # of the monitored metric: the lower, the better
    without_improvement: int = 0  # validations since the best one
    complete: bool = False

    def after_update(self, update: int, epoch: int, batch: int) -> "TrainingState":
        """The state after one more update; `epoch` and `batch` are those of the next one."""
        return replace(self, update=update, epoch=epoch, batch=batch)

    def after_validation(self, value: float, *, best: bool) -> "TrainingState":
        """The state after a validation that found `value`, the best so far or not."""
        if best:
            return replace(self, best=value, without_improvement=0)
        return replace(self, without_improvement=self.without_improvement + 1)

    def stops_early(self, patience: int) -> bool:
        """Whether the last `patience` validations brought no improvement; 0 never stops early."""
        return 0 < patience <= self.without_improvement

    def to_json(self) -> dict[str, JsonValue]:
        """What a checkpoint records."""
        return asdict(self)


def say_limits(train: Train) -> dict[str, JsonValue]:
    """The options that decide when a training is complete: one that is complete goes on when they are raised."""
    return {"updates": train.updates, "patience": train.patience}


def read_state(saved: Mapping[str, JsonValue], limits: object, train: Train) -> TrainingState:
    """The state that a checkpoint recorded; it is complete only as long as its limits are those of the configuration.

    Args:
        saved: what `to_json` gave.
        limits: what `say_limits` gave when the checkpoint was written.
        train: the options of the training that goes on.
    """
    state = TypeAdapter(TrainingState).validate_python(saved)
    return replace(state, complete=state.complete and limits == say_limits(train))
