"""Whether a training can go on from what its run folder holds."""

from pathlib import Path

from seq2see.config.schema import Train
from seq2see.core.errors import CheckpointError
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.training_state import TrainingState, say_limits


def find_checkpoint(folder: RunFolder) -> tuple[tuple[Checkpoint, Path] | None, list[str]]:
    """Return the newest checkpoint that is whole with its file, and a sentence for each newer one that is not.

    Args:
        folder: the run folder.

    Raises:
        CheckpointError: there are checkpoints, and none is whole.
    """
    skipped: list[str] = []
    for path in folder.checkpoints():
        try:
            return (read_checkpoint(path), path), skipped
        except CheckpointError as error:
            skipped.append(str(error))
    if skipped:
        raise CheckpointError(f"no checkpoint is whole: {skipped[0]} Train again in another folder.")
    return None, []


def find_complete_state(folder: RunFolder, train: Train) -> TrainingState | None:
    """Return the state of a complete training that has no checkpoint to go on from; None if it must begin again.

    Args:
        folder: the run folder, without checkpoints.
        train: section `train` of the configuration.

    Raises:
        CheckpointError: the training is complete, and is to go on for longer.
    """
    if not folder.weights_file.is_file():
        return None
    facts = read_checkpoint(folder.weights_file).facts
    if not facts.get("complete"):
        return None  # killed before the first checkpoint
    if facts.get("limits") != say_limits(train):
        raise CheckpointError(
            f"{folder.path}: the run has no checkpoints to go on from; start another run from its weights (init)."
        )
    update = facts.get("update")
    return TrainingState(update=update if type(update) is int else 0, complete=True)
