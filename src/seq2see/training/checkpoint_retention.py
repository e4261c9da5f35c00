"""Which checkpoints of a training are kept."""

from pathlib import Path

from seq2see.config.schema import Train
from seq2see.runs.folder import RunFolder

MIN_CHECKPOINTS = 2  # to go on from: should the newest be damaged, there is one before it


def is_validated(update: int, train: Train) -> bool:
    """Return whether a validation follows an update.

    Args:
        update: the number of updates made.
        train: section `train` of the configuration.
    """
    return update % train.validate_every == 0 or update == train.updates


def list_validated(folder: RunFolder, train: Train) -> list[Path]:
    """Return the checkpoints of validations, newest first, without those that were saved on stopping.

    Args:
        folder: the run folder.
        train: section `train` of the configuration.
    """
    return [path for path in folder.checkpoints() if is_validated(int(path.stem.removeprefix("update-")), train)]


def prune_checkpoints(folder: RunFolder, train: Train) -> None:
    """Keep the newest checkpoint, and as many validated ones as the average or a damaged one may need.

    Args:
        folder: the run folder, which has a checkpoint.
        train: section `train` of the configuration.
    """
    _, *others = folder.checkpoints()
    kept = list_validated(folder, train)[: max(MIN_CHECKPOINTS, train.average_checkpoints)]
    for path in others:
        if path not in kept:
            path.unlink()
