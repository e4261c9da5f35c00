"""Atomic writing of files: a reader sees the old file or the new one, never half of either."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path

from seq2see.core.errors import Seq2SeeError
from seq2see.system.processes import is_running

DRAFT = re.compile(r"\..+\.(\d+)\.draft")  # a file that is being written: .NAME.PROCESS.draft


def write_atomic(path: Path, *content: bytes | memoryview | str) -> None:
    """Write a file atomically: beside it first, then forced to the disk, then renamed; an error leaves the old file.

    Missing folders are made. A device such as /dev/stdout is written to, not replaced.

    Args:
        path: the file that is written or replaced.
        *content: bytes, or text, which is written as UTF-8; several are written one after the other.

    Raises:
        Seq2SeeError: if the file system does not permit it, or the disk is full.
    """
    parts = [part.encode() if isinstance(part, str) else part for part in content]
    with writing_atomic(path) as file:
        file.writelines(parts)


@contextmanager
def writing_atomic(path: Path) -> Iterator[BufferedIOBase]:
    """Write a file of any size atomically: into a draft beside it, which takes its place at the end of the block.

    Missing folders are made. If the block raises, the draft is removed, and what was there before stays. A device such
    as /dev/stdout is written to, not replaced.

    Args:
        path: the file that is written or replaced.

    Yields:
        The open draft.

    Raises:
        Seq2SeeError: if the file system does not permit it, or the disk is full.
    """
    draft = draft_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file() and not path.is_dir():
            with open(path, "wb", opener=_open_at_once) as device:
                yield device
            return
        with open(draft, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _explain_writing(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _open_at_once(path: str, flags: int) -> int:
    """Open a device or pipe for writing; a pipe that nobody reads is an error at once, and not a wait for ever."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "set_blocking"):
        os.set_blocking(handle, True)
    return handle


def _explain_writing(path: Path, error: OSError) -> Seq2SeeError:
    return Seq2SeeError(
        f"{path} cannot be written: {error.strerror or error}; what was there before is untouched; "
        "free some space or choose another place, and run the same command again."
    )


def draft_path(path: Path) -> Path:
    """Return where this process writes a file or folder before it is put in place.

    Args:
        path: its place.
    """
    return path.with_name(f".{path.name}.{os.getpid()}.draft")


def remove_dead_drafts(folder: Path) -> None:
    """Remove the drafts of processes that were killed before they could put them in place.

    Args:
        folder: the folder that is searched, without its sub-folders; it need not exist.
    """
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            name = DRAFT.fullmatch(entry.name)
            if name is None or is_running(int(name[1])):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Force a folder to the disk, so that a rename survives a power cut; not every system permits it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cache_folder() -> Path:
    """Return the folder of all caches: $SEQ2SEE_CACHE, or seq2see in the user's cache folder."""
    base = os.environ.get("SEQ2SEE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seq2see"
