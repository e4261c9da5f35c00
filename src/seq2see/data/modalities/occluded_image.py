"""An image with its regions occluded, one at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from seq2see.core.box import Box
from seq2see.data.modalities.modality import Sources


@dataclass(frozen=True)
class OccludedImage(Sources):
    """An image, and then once with each region in the mean colour of the image, so that no new edge is glaring.

    Args:
        pixels: the image as a batch of one, `[1 d y x]`: pixels or features.
        mask: its mask, `[1 1]`, as an encoder takes it.
        boxes: the regions to occlude, in shares of width and height.
    """

    pixels: Tensor
    mask: Bool[Tensor, "..."]
    boxes: Sequence[Box]

    def __len__(self) -> int:
        return 1 + len(self.boxes)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The positions of each image, which count as one."""
        return np.ones(len(self), dtype=np.int64)

    def gather(self, rows: Sequence[int]) -> tuple[Tensor, Bool[Tensor, "..."]]:
        """Return some of these images as one batch, and their mask.

        Args:
            rows: 0 for the image itself, n for the image without region n, counted from 1.
        """
        images = [occlude(self.pixels, self.boxes[row - 1]) if row else self.pixels for row in rows]
        return torch.cat(images), self.mask.expand(len(rows), *self.mask.shape[1:])


def occlude(pixels: Shaped[Tensor, "*b d y x"], box: Box) -> Shaped[Tensor, "*b d y x"]:
    """Return images with one region in the mean colour of each image.

    Args:
        pixels: pixels or features, `[*b d y x]`.
        box: the region, in shares of width and height.
    """
    height, width = pixels.shape[-2:]
    rows = slice(int(box.top * height + 0.5), int(box.bottom * height + 0.5))
    columns = slice(int(box.left * width + 0.5), int(box.right * width + 0.5))
    occluded = pixels.clone()
    occluded[..., rows, columns] = pixels.float().mean(dim=(-2, -1), keepdim=True).to(pixels.dtype)
    return occluded
