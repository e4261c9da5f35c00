"""Uploaded images: checked before anything else reads them, and kept only while a request needs them."""

import base64
import binascii
import io
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from seq2see.data.formats.image_file import list_formats
from seq2see.serve.requests import Bounds, RequestError


def decode_image(text: str) -> bytes:
    """The bytes of an image that was sent as base64, with or without the beginning of a data URL."""
    _, _, content = text.rpartition("base64,")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError("image must be base64; got something else.") from None


def check_image(data: bytes, bounds: Bounds) -> str:
    """The format of an image, if these bytes are a whole one and not too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=list_formats()) as image:
                width, height, kind = *image.size, str(image.format)
                if width * height > bounds.pixels:
                    raise RequestError(
                        f"an image may have {bounds.pixels:,} pixels; got {width} x {height}.", status=413
                    )
                image.load()
    except RequestError:
        raise
    except Image.DecompressionBombError:
        raise RequestError(f"an image may have {bounds.pixels:,} pixels; got far more.", status=413) from None
    except Exception:  # whatever a decoder raises at a damaged file
        sentence = f"image must be a whole image ({', '.join(list_formats())}); got other bytes."
        raise RequestError(sentence, status=409) from None
    return kind


@contextmanager
def keep_image(data: bytes, bounds: Bounds) -> Iterator[Path]:
    """A checked image as a file, for as long as it is needed."""
    kind = check_image(data, bounds)
    with tempfile.TemporaryDirectory(prefix="seq2see-") as folder:
        file = Path(folder) / f"image.{kind.lower()}"
        file.write_bytes(data)
        yield file
