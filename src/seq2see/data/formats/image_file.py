"""Reading one image file safely, as RGB."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from seq2see.core.errors import DataError
from seq2see.data.formats.idx import read_idx_image, read_source, split_place

FORMATS = ("JPEG", "MPO", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")  # none that runs another program, as EPS does
MAX_IMAGE_PIXELS = 90_000_000  # a file that claims more is a mistake or an attack
EXIF_ORIENTATION = 0x0112  # the tag that says how the camera was held
ROTATIONS = dict(
    zip(
        range(2, 9),
        (
            Image.Transpose.FLIP_LEFT_RIGHT,
            Image.Transpose.ROTATE_180,
            Image.Transpose.FLIP_TOP_BOTTOM,
            Image.Transpose.TRANSPOSE,
            Image.Transpose.ROTATE_270,
            Image.Transpose.TRANSVERSE,
            Image.Transpose.ROTATE_90,
        ),
        strict=True,
    )
)


def read_image(file: Path | str, *, least: int = 0) -> Image.Image:
    """Read the image in a file: upright, RGB, transparent parts white, the first frame of an animation.

    Args:
        file: a path, or FILE#NUMBER of an image in an idx file.
        least: the shortest side that is needed, in pixels; a larger JPEG is decoded smaller. 0 decodes all of it.
    """
    return open_image(read_source(str(file)), name=file, least=least)


def measure_image(file: str) -> tuple[int, int]:
    """Return width and height in pixels without decoding the image; (0, 0) if the file is no image.

    Args:
        file: a path, or FILE#NUMBER of an image in an idx file.
    """
    place = split_place(file)
    if place is not None:
        height, width = read_idx_image(*place).shape
        return width, height
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large images and odd metadata
            with Image.open(file) as image:
                return image.size
    except Exception:  # the error is reported where the image is read
        return 0, 0


def open_image(data: bytes, *, name: Path | str, least: int = 0) -> Image.Image:
    """Read an image from the bytes of a file: upright, RGB, transparent parts white, the first frame of an animation.

    Args:
        data: the content of the file.
        name: the path or name that errors give.
        least: the shortest side that is needed, in pixels; a larger JPEG is decoded smaller. 0 decodes all of it.

    Raises:
        DataError: the data is no image, is damaged, or has more than 90 million pixels.
    """
    with _explaining(name):
        return _decode(data, least)


def convert_image(image: Image.Image, *, name: Path | str | None = None) -> Image.Image:
    """Return an image as one from a file is read: upright, RGB, transparent parts white.

    Args:
        image: an image of any mode, loaded or not.
        name: the path or name that errors give; None for an image without a file.

    Raises:
        DataError: its file is damaged, or it has more than 90 million pixels.
    """
    with _explaining(name):
        return _convert(image)


@contextmanager
def _explaining(name: Path | str | None) -> Iterator[None]:
    """Say in one sentence what a decoder raises at a damaged image, for the code inside a `with`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata: what matters is raised
            yield
    except Image.DecompressionBombError:
        raise DataError(
            f"an image must have at most {MAX_IMAGE_PIXELS // 10**6} million pixels; got more; make it smaller, or "
            "leave it out.",
            file=name,
        ) from None
    except UnidentifiedImageError:
        raise DataError(
            "an image must be a JPEG, PNG, GIF, WebP, BMP, TIFF or PPM file; got something else; convert it or leave "
            "it out.",
            file=name,
        ) from None
    except Exception as error:  # whatever a decoder raises at a damaged file
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"the image is damaged: {reason}; copy it again or leave it out.", file=name) from error


def list_formats() -> list[str]:
    """Return the formats that are read, as far as this version of Pillow supports them."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _decode(data: bytes, least: int) -> Image.Image:
    image: Image.Image = Image.open(BytesIO(data), formats=list_formats())
    if least:
        image.draft(None, (least, least))
    return _convert(image)


def _convert(image: Image.Image) -> Image.Image:
    if image.width * image.height > MAX_IMAGE_PIXELS:
        raise Image.DecompressionBombError
    image.load()
    return _convert_to_rgb(_turn(image))


def _turn(image: Image.Image) -> Image.Image:
    """Turn an image upright by its EXIF orientation; one whose metadata cannot be read stays as it is."""
    turn = None
    with suppress(Exception):
        turn = ROTATIONS.get(image.getexif().get(EXIF_ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def _convert_to_rgb(image: Image.Image) -> Image.Image:
    """Convert every mode to RGB, on white where it is transparent."""
    if image.mode == "F" or image.mode.startswith("I"):
        image = _convert_to_bytes(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _convert_to_bytes(image: Image.Image) -> Image.Image:
    """Convert grey values of 16 bits, or fractions, to 8 bits; Pillow would clip all above 255."""
    values = np.nan_to_num(np.asarray(image).astype(np.float64))
    if image.mode != "F":
        values = values / 257
    elif values.max() <= 1:
        values = values * 255
    return Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
