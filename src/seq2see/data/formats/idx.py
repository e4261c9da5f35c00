"""Images and labels in idx files, the format of MNIST and Fashion-MNIST (also compressed with gzip).

An image is named FILE#NUMBER, counted from 0.
"""

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from seq2see.core.errors import DataError
from seq2see.data.formats.file_bytes import read_bytes
from seq2see.data.pairs import Row

IMAGE_FILE = re.compile(r"(.*)images([-.])idx3(-ubyte)(\.gz)?", re.IGNORECASE)
IMAGE_PLACE = re.compile(r"(.+idx3-ubyte(?:\.gz)?)#(\d+)", re.IGNORECASE | re.DOTALL)
UNSIGNED_BYTE = 8  # the type code of idx


def is_idx(file: Path) -> bool:
    """Tell whether a file is named as an idx file of images is.

    Args:
        file: a path, of which only the name is read: such as train-images-idx3-ubyte.gz.
    """
    return IMAGE_FILE.fullmatch(file.name) is not None


def split_place(source: str) -> tuple[Path, int] | None:
    """Return the file and the number of an image in an idx file; None if a source is no such place.

    Args:
        source: a source, such as FILE#NUMBER, counted from 0.
    """
    match = IMAGE_PLACE.fullmatch(source)
    return None if match is None else (Path(match[1]), int(match[2]))


def read_idx_image(path: Path, index: int) -> UInt8[np.ndarray, "y x"]:
    """Read one grey image of an idx file, as brightness from 0 to 255; the file is decompressed once.

    Args:
        path: the idx file.
        index: the number of the image, counted from 0.

    Raises:
        DataError: the file is damaged, or has no such image.
    """
    images = _read_once(path, 3)
    if index >= len(images):
        raise DataError(f"there are {len(images)} images, counted from 0; got number {index}.", file=path)
    return images[index]


def read_source(source: str) -> bytes:
    """Read the bytes of an image's file; an image inside an idx file as a PGM file.

    Args:
        source: a path, or FILE#NUMBER of an image in an idx file.
    """
    place = split_place(source)
    if place is None:
        return read_bytes(Path(source))
    pixels = read_idx_image(*place)
    return b"P5 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes()


def read_idx_rows(file: Path) -> list[Row]:
    """Read the place and label of every image; labels are in the file beside it of the same name with `labels`.

    Args:
        file: an idx file of images, for which `is_idx` is True.

    Raises:
        DataError: the file of labels is missing or has another number of entries.
    """
    match = IMAGE_FILE.fullmatch(file.name)
    assert match is not None
    names = [f"{match[1]}labels{match[2]}idx1{match[3]}{packed}" for packed in (match[4] or "", ".gz", "")]
    beside = next((file.with_name(name) for name in names if file.with_name(name).is_file()), file.with_name(names[0]))
    images, labels = _read_once(file, 3), _read_once(beside, 1)
    if len(images) != len(labels):
        raise DataError(
            f"each image needs a label; got {len(images)} images and {len(labels)} labels in {beside}; "
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
    """Read an idx file: two zeros, type code, number of axes, the size of each as four bytes, then the values."""
    data = read_bytes(file)
    head = 4 + 4 * axes
    if data[:4] != bytes([0, 0, UNSIGNED_BYTE, axes]) or len(data) < head:
        raise DataError(f"an idx file of bytes with {axes} axes must begin 0 0 8 {axes}; this one does not.", file=file)
    shape = tuple(np.frombuffer(data, ">u4", count=axes, offset=4).astype(int).tolist())
    values = np.frombuffer(data, np.uint8, offset=head)
    if values.size != np.prod(shape):
        raise DataError(f"{np.prod(shape)} values must follow; got {values.size}; copy the file again.", file=file)
    return values.reshape(shape)
