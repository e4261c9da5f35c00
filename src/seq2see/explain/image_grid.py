"""The pixels of an image as a page shows them."""

import base64
import io

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

JPEG_QUALITY = 88  # of an image inside a page

ImageArray = UInt8[np.ndarray, "y x 3"]


def show_pixels(source: Tensor) -> ImageArray | None:
    """Return the first image of a batch as an array of pixels; None if the encoder was given features, not pixels.

    Args:
        source: what the encoder was given, [b 3 y x] if it is pixels.
    """
    return source[0].permute(1, 2, 0).numpy() if source.dtype == torch.uint8 else None


def encode_image(image: ImageArray, *, lossless: bool = False) -> str:
    """Return the image as a data URL, so that a page needs no network.

    Args:
        image: pixels from 0 to 255, [y x 3].
        lossless: write PNG, from which the same pixels are read again, instead of JPEG.
    """
    from PIL import Image

    buffer = io.BytesIO()
    kind = "png" if lossless else "jpeg"
    Image.fromarray(image).save(buffer, format=kind, quality=JPEG_QUALITY, optimize=lossless)
    return f"data:image/{kind};base64," + base64.b64encode(buffer.getvalue()).decode()
