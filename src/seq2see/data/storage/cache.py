"""Folders of prepared data: made once for the same content, put in place whole, made again when damaged.

Each folder has a file with the checksum of every other file, compared whenever it is opened: a changed id would change
the training, and nobody would notice.
"""

import errno
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from seq2see.core.errors import DataError
from seq2see.system.checksums import list_checksums
from seq2see.system.files import remove_dead_drafts

T = TypeVar("T")

log = logging.getLogger("seq2see")

CHECKSUMS = "checksums.txt"  # a line for each other file of a folder: its CRC-32, its bytes and its name
DAMAGE = (OSError, EOFError, ValueError, LookupError, TypeError)  # what reading a damaged folder can raise


def read_or_make(folder: Path, make: Callable[[Path], None], read: Callable[[Path], T]) -> T:
    """Return what `read` finds in a folder; if it is missing or damaged, `make` fills a new one first.

    Args:
        folder: the folder of prepared data, which several processes may make at the same time.
        make: writes the files into an empty folder, which then takes the place of `folder` as a whole.
        read: reads the files of a folder; an OSError, EOFError, ValueError, LookupError or TypeError means that it is
            damaged.

    Raises:
        DataError: the folder cannot be written, or what was written cannot be read.
    """
    if folder.exists():
        with suppress(*DAMAGE):
            return _read(folder, read)
        log.warning("%s: the prepared data was damaged, or made by an earlier version; it is made again.", folder)
    for _ in range(3):  # another process may be repairing the same folder
        _write(folder, make, read)
        with suppress(*DAMAGE):
            return _read(folder, read)
    raise DataError("the prepared data cannot be read back; set SEQ2SEE_CACHE to another folder.", file=folder)


def name_content(kind: str, pieces: Iterable[str]) -> str:
    """Return a name that follows from the content of all pieces, as 32 hexadecimal digits (SHA-256).

    Args:
        kind: the kind and version of what is stored, so that another kind has another name.
        pieces: the texts it is made from, in their order.
    """
    digest = hashlib.sha256(kind.encode())
    for piece in pieces:
        content = piece.encode()
        digest.update(f" {len(content)} ".encode() + content)
    return digest.hexdigest()[:32]


def _read(folder: Path, read: Callable[[Path], T]) -> T:
    """Return what `read` finds in a folder.

    Raises:
        ValueError: a file was changed since it was written.
    """
    if (folder / CHECKSUMS).read_bytes() != _sum_files(folder):
        raise ValueError("the checksums differ")
    return read(folder)


def _sum_files(folder: Path) -> bytes:
    """Return the content of the checksum file of a folder."""
    files = sorted(file for file in folder.iterdir() if file.name != CHECKSUMS and not file.name.startswith("."))
    return list_checksums(files).encode()


def _write(folder: Path, make: Callable[[Path], None], read: Callable[[Path], object]) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_dead_drafts(folder.parent)
        with tempfile.TemporaryDirectory(f".{os.getpid()}.draft", f".{folder.name}.", folder.parent) as draft:
            made = Path(draft) / folder.name
            made.mkdir()
            make(made)
            (made / CHECKSUMS).write_bytes(_sum_files(made))
            _put(made, folder, read)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"the prepared data cannot be written: {reason}; set SEQ2SEE_CACHE.", file=folder) from error


def _put(made: Path, folder: Path, read: Callable[[Path], object]) -> None:
    """Put a new folder in place, unless another process was quicker: either result serves."""
    with suppress(*DAMAGE):
        _read(folder, read)
        return
    with suppress(OSError):
        folder.rename(made.parent / "damaged")  # removed with the draft
    try:
        made.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
