"""An image as a source: its pixels, and the regions of its grid that occlusion leaves out."""

import base64
import io

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from seq2see.data.modalities.modality import Grid

MAX_REGIONS, MIN_REGIONS = 8, 4  # regions a side that an image is cut into, if its cells can be put together so
JPEG_QUALITY = 88  # of an image inside a page

ImageArray = UInt8[np.ndarray, "y x 3"]


def show_pixels(source: Tensor) -> ImageArray | None:
    """Return the first image of a batch as an array of pixels; None if the encoder was given features, not pixels.

    Args:
        source: what the encoder was given, [b 3 y x] if it is pixels.
    """
    return source[0].permute(1, 2, 0).numpy() if source.dtype == torch.uint8 else None


def encode_image(image: ImageArray) -> str:
    """Return the image as a data URL of JPEG, so that a page needs no network.

    Args:
        image: pixels from 0 to 255, [y x 3].
    """
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="JPEG", quality=JPEG_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def choose_regions(grid: Grid | None) -> Grid:
    """Choose the rows and columns of regions to occlude: the cells themselves, or blocks of them where there are many.

    Args:
        grid: the cells that the encoder has; None if its memory has no cells.
    """
    if grid is None:
        return MAX_REGIONS, MAX_REGIONS
    rows, columns = (max((n for n in range(1, MAX_REGIONS + 1) if side % n == 0), default=side) for side in grid)
    return (rows if rows >= MIN_REGIONS else grid[0], columns if columns >= MIN_REGIONS else grid[1])


def split_grid(grid: Grid, regions: Grid) -> tuple[int, int, int, int]:
    """Return the shape in which the cells of a grid fall into regions: [region rows, rows, region columns, columns].

    Args:
        grid: rows and columns of the cells.
        regions: rows and columns of the regions; each must divide that of the cells.
    """
    return regions[0], grid[0] // regions[0], regions[1], grid[1] // regions[1]
