"""The lock on a run folder: one training at a time."""

from seq2see.core.errors import CheckpointError
from seq2see.runs.folder import LOCK, RunFolder
from seq2see.system.file_lock import FileLock
from seq2see.system.files import remove_dead_drafts

WRITTEN = ("checkpoints", "tensorboard", "attention", "data", "code")  # folders of a run


def lock_folder(folder: RunFolder) -> FileLock:
    """Lock a run folder for a training, and remove what killed processes were writing; a new folder is made.

    Args:
        folder: the run folder.

    Raises:
        CheckpointError: another training runs in it, it cannot be made, or a folder in it is a link.
    """
    _require_own_folders(folder)
    try:
        folder.checkpoint_folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.checkpoint_folder / LOCK)
    except BlockingIOError:
        raise CheckpointError(
            f"{folder.path}: another training is running in this folder; wait until it ends, or choose another (out)."
        ) from None
    except OSError as error:
        raise CheckpointError(f"{folder.path}: the folder cannot be made: {error.strerror or error}.") from error
    for each in (folder.path, *folder.path.iterdir()):
        remove_dead_drafts(each)
    return lock


def _require_own_folders(folder: RunFolder) -> None:
    """Refuse links to other folders, in which a training would write and delete files."""
    for name in WRITTEN:
        place = folder.path / name
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise CheckpointError(
                f"{place}: this must be a folder, in which training writes; got a link or a file; remove it."
            )
