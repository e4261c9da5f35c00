"""Reading the files of a run folder, which may come from a stranger: real files alone, none of them too large."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2see.core.errors import CheckpointError
from seq2see.core.trust import is_trusting
from seq2see.system.files import DRAFT, draft_path, remove_dead_drafts

MAX_CONFIG_BYTES = 400_000
MAX_FORMAT_BYTES = 10_000
MAX_TOKENIZER_BYTES = 32_000_000  # about a million pieces
MAX_METRICS_BYTES = 64_000_000
MAX_HEADER_BYTES = 16_000_000  # of a file of weights
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_run_file(path: Path, *, most: int) -> bytes:
    """Return the content of a file of a run folder.

    Args:
        path: the file.
        most: the largest number of bytes.

    Raises:
        FileNotFoundError: there is no such file.
        CheckpointError: it is no file inside its folder, cannot be read, or is too large.
    """
    with os.fdopen(open_run_file(path), "rb") as file, naming_failures(path):
        content = file.read(most + 1)
    if len(content) > most:
        raise CheckpointError(f"{path}: the file must have at most {most:,} bytes; got more; copy the run again.")
    return content


def open_run_file(path: Path) -> int:
    """Return the descriptor of a file of a run folder, opened for reading; the caller closes it.

    A pipe or a device would never end. A link to a file elsewhere would show its content; a trusted run may have it.

    Args:
        path: the file.

    Raises:
        FileNotFoundError: there is no such file.
        CheckpointError: it is no file inside its folder, or cannot be read.
    """
    try:
        real, folder = path.resolve(strict=True), path.parent.resolve()
        if not real.is_relative_to(folder) and not is_trusting():
            raise CheckpointError(
                f"{path}: the file must be inside its folder; got a link to another place; copy the file there, or add "
                "--trust if you trust the run."
            )
        _require_file(path, os.stat(real).st_mode)
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        if is_there(path):
            raise CheckpointError(f"{path}: this is a link to a file that is not there; copy the run again.") from None
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a RuntimeError is a circle of links
        raise _explain(path, error) from None
    try:
        _require_file(path, os.fstat(descriptor).st_mode)  # it may have been replaced meanwhile
    except CheckpointError:
        os.close(descriptor)
        raise
    return descriptor


def _require_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "something else")
        raise CheckpointError(f"{path}: this must be a file; got {kind}; remove it, and copy the run again.")


def is_there(path: Path) -> bool:
    """Return whether a run folder has a file of this name, whatever it is.

    Args:
        path: the file.

    Raises:
        CheckpointError: the folder does not permit to find out.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _explain(path, error) from None
    return True


@contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Say which file the disk does not give, or memory does not hold, for the code inside a `with`.

    Args:
        path: the file that is read.

    Raises:
        CheckpointError: it cannot be read.
    """
    try:
        yield
    except (OSError, MemoryError) as error:
        raise _explain(path, error) from None


def _explain(path: Path, error: Exception) -> CheckpointError:
    if isinstance(error, MemoryError):
        return CheckpointError(f"{path}: there is too little memory to read the file; use a larger computer.")
    reason = getattr(error, "strerror", None) or "it cannot be opened"
    return CheckpointError(f"{path}: the file cannot be read: {reason}; check it and its permissions.")


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

    _require_room(folder, target.parent)
    try:
        shutil.copytree(folder, draft, ignore=leave_out)
        os.replace(draft, target)
    except (OSError, shutil.Error, RecursionError) as error:
        raise CheckpointError(f"{target}: the run cannot be copied: {error}; make room and try again.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _require_room(folder: Path, place: Path) -> None:
    """Refuse to copy more than there is room for; a file without content may be called larger than the disk."""
    sizes = [file.lstat().st_size for file in folder.rglob("*") if not file.is_symlink() and file.is_file()]
    with suppress(OSError):  # the place is made later
        free = shutil.disk_usage(place).free
        if sum(sizes) > free:
            raise CheckpointError(
                f"{folder}: the run has {sum(sizes) / 2**30:,.1f} GB; there is room for {free / 2**30:,.1f} GB; make "
                "room, or remove what is no part of the run."
            )


def _is_copied(path: Path, folder: Path) -> bool:
    """Tell whether a path is a folder, or a file inside a folder."""
    if DRAFT.fullmatch(path.name):
        return False
    if path.is_dir():
        return not path.is_symlink()
    return path.is_file() and path.resolve().is_relative_to(folder)
