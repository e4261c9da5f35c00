"""One picture: from a file as people have it to RGB, safely."""

import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from seq2see.core.errors import DataError
from seq2see.data.idx import read_idx_picture, read_source, split_place

FORMATS = ("JPEG", "MPO", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")  # none that runs another program, as EPS does
LARGEST = 90_000_000  # pixels that are decoded at once; a file that asks for more is a mistake or an attack
ORIENTATION = 0x0112  # the EXIF tag that says how the camera was held
TURNS = dict(
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


def read_picture(file: Path | str, *, least: int = 0) -> Image.Image:
    """The picture in a file: upright, RGB, transparent parts white, of an animation the first frame.

    A large JPEG is decoded smaller, if its sides are needed no longer than `least`.
    """
    return open_picture(read_source(str(file)), name=file, least=least)


def measure_picture(file: str) -> tuple[int, int]:
    """Width and height, without decoding more than is needed to know them; (0, 0) if the file is no picture."""
    place = split_place(file)
    if place is not None:
        height, width = read_idx_picture(*place).shape
        return width, height
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures and odd metadata
            with Image.open(file) as picture:
                return picture.size
    except Exception:  # what is wrong with it is told where it is needed
        return 0, 0


def open_picture(data: bytes, *, name: Path | str, least: int = 0) -> Image.Image:
    """The same from the bytes of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata: what matters is raised
            return _decode(data, least)
    except Image.DecompressionBombError:
        raise DataError(
            f"a picture must have at most {LARGEST // 10**6} million pixels; got more; make it smaller, or leave it "
            "out.",
            file=name,
        ) from None
    except UnidentifiedImageError:
        raise DataError(
            "a picture must be a JPEG, PNG, GIF, WebP, BMP, TIFF or PPM file; got something else; convert it or leave "
            "it out.",
            file=name,
        ) from None
    except Exception as error:  # whatever a decoder raises at a damaged file
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"the picture is damaged: {reason}; copy it again or leave it out.", file=name) from error


def list_formats() -> list[str]:
    """The formats that are read, as far as this Pillow knows them."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _decode(data: bytes, least: int) -> Image.Image:
    image: Image.Image = Image.open(BytesIO(data), formats=list_formats())
    if least:
        image.draft(None, (least, least))
    if image.width * image.height > LARGEST:
        raise Image.DecompressionBombError
    image.load()
    return _flatten(_turn(image))


def _turn(image: Image.Image) -> Image.Image:
    """Upright, however the camera was held; a picture whose metadata cannot be read stays as it is."""
    turn = None
    with suppress(Exception):
        turn = TURNS.get(image.getexif().get(ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def _flatten(image: Image.Image) -> Image.Image:
    """Any mode as RGB, on white where it is transparent."""
    if image.mode == "F" or image.mode.startswith("I"):
        image = _narrow(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _narrow(image: Image.Image) -> Image.Image:
    """Grey values of 16 bits, or fractions, as 8 bits; Pillow would cut off all above 255."""
    values = np.nan_to_num(np.asarray(image).astype(np.float64))
    if image.mode != "F":
        values = values / 257
    elif values.max() <= 1:
        values = values * 255
    return Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
