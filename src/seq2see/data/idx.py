"""Pictures and labels in idx files, as MNIST, Fashion-MNIST and their like come (also packed with gzip).

A picture is named FILE#NUMBER, counted from 0.
"""

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from seq2see.core.errors import DataError
from seq2see.data.lines import read_bytes
from seq2see.data.pairs import Row

PICTURES = re.compile(r"(.*)images([-.])idx3(-ubyte)(\.gz)?", re.IGNORECASE)
PLACE = re.compile(r"(.+idx3-ubyte(?:\.gz)?)#(\d+)", re.IGNORECASE | re.DOTALL)
BYTES = 8  # the idx number of unsigned bytes


def is_idx(file: Path) -> bool:
    """Whether a file is named as one of pictures is."""
    return PICTURES.fullmatch(file.name) is not None


def split_place(source: str) -> tuple[Path, int] | None:
    """The file and the number of a picture inside it, if a source is such a place."""
    match = PLACE.fullmatch(source)
    return None if match is None else (Path(match[1]), int(match[2]))


def read_idx_picture(path: Path, index: int) -> UInt8[np.ndarray, "y x"]:
    """One grey picture; the file is unpacked once."""
    pictures = _read_once(path, 3)
    if index >= len(pictures):
        raise DataError(f"there are {len(pictures)} pictures, counted from 0; got number {index}.", file=path)
    return pictures[index]


def read_source(source: str) -> bytes:
    """The bytes of a picture's file; a picture inside an idx file as a file of its own (PGM)."""
    place = split_place(source)
    if place is None:
        return read_bytes(Path(source))
    pixels = read_idx_picture(*place)
    return b"P5 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes()


def read_idx_rows(file: Path) -> list[Row]:
    """Every picture with its label, which stands in the file named alike."""
    match = PICTURES.fullmatch(file.name)
    assert match is not None
    names = [f"{match[1]}labels{match[2]}idx1{match[3]}{packed}" for packed in (match[4] or "", ".gz", "")]
    beside = next((file.with_name(name) for name in names if file.with_name(name).is_file()), file.with_name(names[0]))
    pictures, labels = _read_once(file, 3), _read_once(beside, 1)
    if len(pictures) != len(labels):
        raise DataError(
            f"each picture needs a label; got {len(pictures)} pictures and {len(labels)} labels in {beside}; "
            "take the two files of one data set.",
            file=file,
        )
    return [(number + 1, f"{file.absolute()}#{number}", str(label)) for number, label in enumerate(labels.tolist())]


def _read_once(file: Path, axes: int) -> UInt8[np.ndarray, "..."]:
    try:
        found = file.stat()
        stamp = (found.st_mtime_ns, found.st_size)
    except OSError:
        stamp = (0, 0)  # reading says what is wrong
    return _read_arrays(file, axes, stamp)


@lru_cache(maxsize=4)
def _read_arrays(file: Path, axes: int, stamp: tuple[int, int]) -> UInt8[np.ndarray, "..."]:
    """The array of an idx file: two zeros, kind, number of axes, the size of each as four bytes, then the values."""
    data = read_bytes(file)
    head = 4 + 4 * axes
    if data[:4] != bytes([0, 0, BYTES, axes]) or len(data) < head:
        raise DataError(f"an idx file of bytes with {axes} axes must begin 0 0 8 {axes}; this one does not.", file=file)
    shape = tuple(np.frombuffer(data, ">u4", count=axes, offset=4).astype(int).tolist())
    values = np.frombuffer(data, np.uint8, offset=head)
    if values.size != np.prod(shape):
        raise DataError(f"{np.prod(shape)} values must follow; got {values.size}; copy the file again.", file=file)
    return values.reshape(shape)
