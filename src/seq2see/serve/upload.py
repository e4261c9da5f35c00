"""Uploaded images: they are checked before anything else reads them, and deleted after the request."""

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
from seq2see.serve.bounds import Bounds
from seq2see.serve.request_error import RequestError

JPEG_START, SCAN_START = b"\xff\xd8", b"\xff\xda"
MOST_SCANS = 100  # of a JPEG; progressive ones have about 10. A scan of 60 bytes may cost all pixels again


def decode_image(text: str) -> bytes:
    """Decode an image that was sent as base64.

    Args:
        text: the base64 text, with or without the beginning of a data URL.

    Raises:
        RequestError: the text is not base64.
    """
    _, _, content = text.rpartition("base64,")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError("image must be base64; got something else.") from None


def check_image(data: bytes, bounds: Bounds) -> str:
    """Check that these bytes are a complete image of acceptable size, and return its format, such as PNG.

    Args:
        data: the bytes of the file.
        bounds: the most pixels that an image may have.

    Raises:
        RequestError: with status 413 if there are too many pixels, and 409 if the bytes are no complete image.
    """
    if data.startswith(JPEG_START) and data.count(SCAN_START) > MOST_SCANS:
        raise RequestError(f"a JPEG may have {MOST_SCANS} scans; got {data.count(SCAN_START):,}.", status=413)
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
    except Exception:  # the decoders raise many kinds of errors at damaged files
        sentence = f"image must be a whole image ({', '.join(list_formats())}); got other bytes."
        raise RequestError(sentence, status=409) from None
    return kind


@contextmanager
def keep_image(data: bytes, bounds: Bounds) -> Iterator[Path]:
    """Check an image and write it into a temporary file, which is deleted at the end of the block.

    Args:
        data: the bytes of the file.
        bounds: the most pixels that an image may have.

    Yields:
        The path of the file.

    Raises:
        RequestError: the image is refused, as by `check_image`.
    """
    kind = check_image(data, bounds)
    with tempfile.TemporaryDirectory(prefix="seq2see-") as folder:
        file = Path(folder) / f"image.{kind.lower()}"
        file.write_bytes(data)
        yield file
