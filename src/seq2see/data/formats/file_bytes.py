"""The bytes of files, decompressed, and never more than memory holds or texts pack into so few."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Protocol, runtime_checkable

from seq2see.core.errors import DataError
from seq2see.system.free_memory import read_free_memory

GZIP = b"\x1f\x8b"
MAX_EXPANSION = 50  # of compressed data; texts shrink to a third, and repetitive ones to a twentieth
MAX_SMALL_BYTES = 16_000_000  # which any file may expand to
MAX_MEMORY_SHARE = 0.5  # of the free memory, for the bytes alone; texts and lines need as much again
CHUNK = 1 << 20


@runtime_checkable
class Readable(Protocol):
    """A file or stream that gives bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none at the end.

        Args:
            size: the most bytes to return.
        """


def read_bytes(file: Path) -> bytes:
    """Read the bytes of a file, decompressed if it is a gzip file.

    Args:
        file: the file; its first bytes tell whether it is compressed, whatever its name.

    Raises:
        DataError: the file is missing, is a folder, cannot be read, is damaged or has more than memory holds.
    """
    with explaining_reading(file), file.open("rb") as content:
        data = read_whole(content, file)
    return _decompress(data, file) if data.startswith(GZIP) else data


@contextmanager
def open_bytes(file: Path) -> Iterator[BufferedIOBase]:
    """Open a file of any size for reading, decompressed on the way if it is a gzip file.

    Args:
        file: the file, whose content is read inside the block.

    Yields:
        The open file.

    Raises:
        DataError: as `read_bytes`, but not for want of memory.
    """
    with explaining_reading(file), file.open("rb") as content:
        packed = content.read(len(GZIP)) == GZIP
        content.seek(0)
        try:
            yield gzip.GzipFile(fileobj=content) if packed else content
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"the file is damaged: {error}; compress or copy it again.", file=file) from error


@contextmanager
def packing(out: BufferedIOBase, file: Path) -> Iterator[BufferedIOBase]:
    """Compress what is written inside the block, if the name of the file says so, always to the same bytes.

    Args:
        out: the file or buffer that is written.
        file: its name, which ends in `.gz` or not.

    Yields:
        What to write to.
    """
    if file.suffix.lower() != ".gz":
        yield out
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
        yield packed


@contextmanager
def explaining_reading(file: Path) -> Iterator[None]:
    """Turn what the system raises inside the block into one sentence.

    Args:
        file: the file that is read there.

    Raises:
        DataError: the file is missing, is a folder or cannot be read.
    """
    try:
        yield
    except FileNotFoundError:
        what = "this is a link to a file that is not there" if file.is_symlink() else "there is no such file"
        raise DataError(f"{what}; check the path.", file=file) from None
    except IsADirectoryError:
        raise DataError("this is a folder; give a file.", file=file) from None
    except (OSError, ValueError) as error:  # a ValueError is a path that no system permits
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"the file cannot be read: {reason}; check the path and the permissions.", file=file) from error


def read_whole(content: Readable, name: Path | str) -> bytes:
    """Read an open file, or a stream that may never end, as far as memory holds it.

    Args:
        content: the file or stream.
        name: the path or name that errors give.

    Raises:
        DataError: it has more bytes than memory holds.
    """
    most = _find_most_bytes()
    data = _collect(content, most)
    if data is None:
        raise DataError(
            f"the file must fit into memory, and half of what is free are {most / 2**30:,.1f} GB; got more; divide it, "
            "or use a larger computer.",
            file=name,
        )
    return data


def _decompress(data: bytes, file: Path) -> bytes:
    """Decompress gzip, chunk by chunk, as far as texts can have become so small."""
    most = find_most_expanded(len(data))
    try:
        with gzip.open(BytesIO(data)) as content:
            expanded = _collect(content, most)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"the file is damaged: {error}; compress or copy it again.", file=file) from error
    if expanded is None:
        raise refuse_expansion(file, most)
    return expanded


def _collect(content: Readable, most: int) -> bytes | None:
    """Read to the end, chunk by chunk; None if there are more bytes than `most`."""
    buffer = BytesIO()
    while chunk := content.read(CHUNK):
        buffer.write(chunk)
        if buffer.tell() > most:
            return None
    return buffer.getvalue()


def find_most_expanded(packed: int) -> int:
    """Return how many bytes compressed data may expand to.

    Args:
        packed: the bytes that it has compressed.
    """
    return min(max(MAX_SMALL_BYTES, MAX_EXPANSION * packed), _find_most_bytes())


def refuse_expansion(file: Path, most: int) -> DataError:
    """Return the error of compressed data that expands to more than real data does.

    Args:
        file: the compressed file.
        most: the most bytes that it may expand to.
    """
    return DataError(
        f"compressed data may expand to {MAX_EXPANSION} times its size and half of the free memory, here to "
        f"{most / 1e6:,.0f} MB; got more; decompress it first if it is no mistake.",
        file=file,
    )


@cache
def _find_most_bytes() -> int:
    """Return the most bytes of a file, by the memory that was free when the first file was read."""
    free = read_free_memory()
    return 2**62 if free is None else int(MAX_MEMORY_SHARE * free)
