"""Reading the files of a run folder, which may come from a stranger: real files alone, none of them too large."""

import os
import shutil
import stat
from pathlib import Path

from seq2see.core.errors import CheckpointError
from seq2see.system.files import DRAFT, draft_path, remove_dead_drafts

MAX_CONFIG_BYTES = 400_000
MAX_FORMAT_BYTES = 10_000
MAX_TOKENIZER_BYTES = 32_000_000  # about a million pieces
MAX_METRICS_BYTES = 64_000_000
MAX_HEADER_BYTES = 16_000_000  # of a file of weights


def read_run_file(path: Path, *, most: int) -> bytes:
    """Return the content of a file of a run folder.

    Args:
        path: the file.
        most: the largest number of bytes.

    Raises:
        FileNotFoundError: there is no such file.
        CheckpointError: it is no file inside its folder, cannot be read, or is too large.
    """
    with os.fdopen(open_run_file(path), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise CheckpointError(f"{path}: the file must have at most {most:,} bytes; got more; copy the run again.")
    return content


def open_run_file(path: Path) -> int:
    """Return the descriptor of a file of a run folder, opened for reading; the caller closes it.

    A pipe or a device would never end, and a link to a file elsewhere would show its content.

    Args:
        path: the file.

    Raises:
        FileNotFoundError: there is no such file.
        CheckpointError: it is no file inside its folder, or cannot be read.
    """
    try:
        real, folder = path.resolve(strict=True), path.parent.resolve()
        if not real.is_relative_to(folder):
            raise CheckpointError(
                f"{path}: the file must be inside its folder; got a link to another place; copy the file there."
            )
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a RuntimeError is a circle of links
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise CheckpointError(f"{path}: the file cannot be read: {reason}; check it and its permissions.") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "Is a directory" if stat.S_ISDIR(mode) else "Is no regular file"
        raise CheckpointError(f"{path} cannot be read: {kind}; remove it, and copy the run again.")
    return descriptor


def copy_run_files(folder: Path, target: Path) -> None:
    """Copy a run folder, without what is neither file nor folder and without links to other places.

    A copy that fails leaves nothing behind.

    Args:
        folder: the run folder.
        target: the new folder, which must not exist yet.
    """
    if os.path.lexists(target):
        raise CheckpointError(f"{target}: a run must be saved where nothing is yet; choose another path.")
    remove_dead_drafts(target.parent)
    real, draft = folder.resolve(), draft_path(target)

    def leave_out(place: str, names: list[str]) -> list[str]:
        return [name for name in names if not _is_copied(Path(place) / name, real)]

    try:
        shutil.copytree(folder, draft, ignore=leave_out)
        os.replace(draft, target)
    except (OSError, shutil.Error, RecursionError) as error:
        raise CheckpointError(f"{target}: the run cannot be copied: {error}; make room and try again.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _is_copied(path: Path, folder: Path) -> bool:
    """Tell whether a path is a folder, or a file inside a folder."""
    if DRAFT.fullmatch(path.name):
        return False
    if path.is_dir():
        return not path.is_symlink()
    return path.is_file() and path.resolve().is_relative_to(folder)
