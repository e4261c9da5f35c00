"""Pictures that strangers send: looked at before anything else does, and kept only while they are needed."""

import base64
import binascii
import io
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from seq2see.data.image import list_formats
from seq2see.serve.schema import Bounds, RefusalError


def decode_picture(text: str) -> bytes:
    """The bytes of a picture that was sent as base64, with or without the beginning of a data address."""
    _, _, content = text.rpartition("base64,")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise RefusalError("image must be base64; got something else.") from None


def check_picture(data: bytes, bounds: Bounds) -> str:
    """The kind of a picture, if these bytes are one, whole, and not too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=list_formats()) as picture:
                width, height, kind = *picture.size, str(picture.format)
                if width * height > bounds.pixels:
                    raise RefusalError(
                        f"a picture may have {bounds.pixels:,} pixels; got {width} x {height}.", status=413
                    )
                picture.load()
    except RefusalError:
        raise
    except Image.DecompressionBombError:
        raise RefusalError(f"a picture may have {bounds.pixels:,} pixels; got far more.", status=413) from None
    except Exception:  # whatever a decoder raises at a damaged file
        sentence = f"image must be a whole picture ({', '.join(list_formats())}); got other bytes."
        raise RefusalError(sentence, status=409) from None
    return kind


@contextmanager
def keep_picture(data: bytes, bounds: Bounds) -> Iterator[Path]:
    """A checked picture as a file, for as long as it is needed."""
    kind = check_picture(data, bounds)
    with tempfile.TemporaryDirectory(prefix="seq2see-") as folder:
        file = Path(folder) / f"picture.{kind.lower()}"
        file.write_bytes(data)
        yield file
