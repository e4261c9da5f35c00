"""Images that are Python objects: of Pillow, arrays of NumPy and tensors of torch, as the PNG files of them.

Whatever reads an object reads its file, so that both are upright, RGB, and white where they are transparent.
"""

import atexit
import hashlib
import io
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Shaped
from PIL import Image

from seq2see.core.errors import DataError
from seq2see.data.formats.image_file import convert_image

CHANNELS = (1, 3, 4)  # grey, RGB, and RGB with opacity
ALLOWED = "an array of an image must be y x, y x 3 or y x 4 (a tensor c y x) of uint8, or of floats from 0 to 1"


def is_tensor(given: object) -> TypeGuard[Any]:
    """Tell whether an object is a tensor of torch, which is not imported for this.

    Args:
        given: any object.
    """
    return type(given).__module__.partition(".")[0] == "torch" and hasattr(given, "detach")


def is_pixels(given: object) -> bool:
    """Tell whether an object is one image: of Pillow, or an array or tensor with the axes of one.

    Args:
        given: any object.
    """
    if isinstance(given, Image.Image):
        return True
    if not is_numbers(given):
        return False
    shape = given.shape
    return len(shape) == 2 or (len(shape) == 3 and shape[0 if is_tensor(given) else 2] in CHANNELS)


def is_numbers(given: object) -> TypeGuard[Any]:
    """Tell whether an object is an array or tensor of numbers with several axes.

    Args:
        given: any object.
    """
    array = isinstance(given, np.ndarray) and given.dtype.kind in "biuf"
    return (array or is_tensor(given)) and len(given.shape) > 1  # type: ignore[attr-defined]


def encode_image(given: object) -> tuple[str, bytes]:
    """Return an image as the name, which follows from its pixels, and the content of a PNG file.

    Args:
        given: an image of Pillow, an array or a tensor.

    Raises:
        DataError: it is no image, or cannot be read.
    """
    image = convert_image(given if isinstance(given, Image.Image) else _draw(given))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return f"{hashlib.sha256(buffer.getvalue()).hexdigest()[:20]}.png", buffer.getvalue()


def place_image(given: object) -> str:
    """Return the path of a PNG file of an image, which is there until the process ends.

    Args:
        given: an image of Pillow, an array or a tensor.
    """
    name, content = encode_image(given)
    file = _make_folder() / name
    if not file.exists():
        file.write_bytes(content)
    return str(file)


@cache
def _make_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="seq2see-images-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _draw(given: Any) -> Image.Image:
    """Return an array or tensor as an image."""
    values = _to_array(given) if is_tensor(given) else given
    if not isinstance(values, np.ndarray) or not is_pixels(values) or not values.size:
        raise DataError(f"{ALLOWED}; got the shape {tuple(getattr(given, 'shape', ()))}.")
    if values.dtype.kind == "f":
        least, most = float(values.min()), float(values.max())
        if not (least >= 0 and most <= 1):
            raise DataError(f"{ALLOWED}; got floats from {least:g} to {most:g}.")
        values = (values.astype(np.float64) * 255).round().astype(np.uint8)
    elif values.dtype == np.bool_:
        values = values.astype(np.uint8) * 255
    elif values.dtype != np.uint8:
        raise DataError(f"{ALLOWED}; got {values.dtype}.")
    return Image.fromarray(np.ascontiguousarray(values[..., 0] if values.shape[2:] == (1,) else values))


def _to_array(tensor: Any) -> Shaped[np.ndarray, "..."]:
    """Return a tensor `[y x]` or `[c y x]` as an array `[y x]` or `[y x c]`."""
    plain = tensor.detach().cpu()
    values = (plain.float() if plain.is_floating_point() else plain).numpy()
    return values.transpose(1, 2, 0) if values.ndim == 3 else values
