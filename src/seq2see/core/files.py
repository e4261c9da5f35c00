"""Writing files so that a reader sees the old one or the new one, never half of either."""

import os
from contextlib import suppress
from pathlib import Path

from seq2see.core.errors import Seq2SeeError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write beside the file, force it to the disk, and put it in place; a full disk leaves the old file as it was.

    Missing folders are made.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise Seq2SeeError(
            f"{path} cannot be written: {error.strerror or error}; what was there before is untouched; "
            "make room or choose another folder, and run the same command again."
        ) from error


def _sync_folder(folder: Path) -> None:
    """A rename is safe from a power cut only when the folder is on the disk too; not every system lets us."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
