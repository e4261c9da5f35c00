"""Writing files so that a reader sees the old one or the new one, never half of either."""

import os
from contextlib import suppress
from pathlib import Path

from seq2see.core.errors import Seq2SeeError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write beside the file, force it to the disk, and put it in place; a full disk leaves the old file as it was.

    Missing folders are made. A device such as /dev/stdout is written to, not replaced.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        _write_through(draft, data)
        os.replace(draft, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise Seq2SeeError(
            f"{path} cannot be written: {error.strerror or error}; what was there before is untouched; "
            "mend that (make room, or choose another place) and run the same command again."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _write_through(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """A rename is safe from a power cut only when the folder is on the disk too; not every system lets us."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cache_folder() -> Path:
    """Where what can be made again is kept: $SEQ2SEE_CACHE, or the user's cache folder."""
    base = os.environ.get("SEQ2SEE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seq2see"
