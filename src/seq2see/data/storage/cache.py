"""Folders of prepared data: made once for the same content, put in place whole, made again when damaged."""

import errno
import hashlib
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from seq2see.core.errors import DataError

T = TypeVar("T")

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
    for _ in range(3):  # another process may be repairing the same folder
        with suppress(*DAMAGE):
            return read(folder)
        _write(folder, make, read)
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


def _write(folder: Path, make: Callable[[Path], None], read: Callable[[Path], object]) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
            made = Path(draft) / folder.name
            made.mkdir()
            make(made)
            _put(made, folder, read)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"the prepared data cannot be written: {reason}; set SEQ2SEE_CACHE.", file=folder) from error


def _put(made: Path, folder: Path, read: Callable[[Path], object]) -> None:
    """Put a new folder in place, unless another process was quicker: either result serves."""
    with suppress(*DAMAGE):
        read(folder)
        return
    with suppress(OSError):
        folder.rename(made.parent / "damaged")  # removed with the draft
    try:
        made.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
