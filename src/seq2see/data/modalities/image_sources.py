"""Images that are prepared for an encoder, as pixels or as features, with the data augmentation of training."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Int64, Shaped, UInt8
from torch import Tensor

from seq2see.data.modalities.modality import Progress, Sources


@runtime_checkable
class ImageReader(Protocol):
    """What an encoder is given for the file of an image, mirrored or not: pixels or features."""

    def __call__(self, file: str, mirrored: bool) -> np.ndarray: ...

    def fill(self, files: Sequence[str], *, mirror: bool, progress: Progress | None = None) -> None:
        """Compute now what would otherwise take long later.

        Args:
            files: the paths of the images.
            mirror: whether mirror images are needed too.
            progress: called with how many are done and how many there are; None reports nothing.
        """


@dataclass(frozen=True)
class ImageSources(Sources):
    """Prepared images: pixels, or the features that a frozen encoder takes in their place.

    Args:
        files: the path of each different image.
        places: the place of each source's image in `files`, `[n]`.
        reader: returns the pixels or features of an image.
        mirror: whether training may show images as in a mirror.
        mirrored: True for the sources that this epoch shows as in a mirror, `[n]`; None shows none so.
        shift: the largest number of pixels that training may move an image by, in each direction.
        moves: by how many pixels this epoch moves each source down and to the right, `[n 2]`; None moves none.
    """

    files: Sequence[str]
    places: Int64[np.ndarray, " n"]
    reader: ImageReader
    mirror: bool = False
    mirrored: Bool[np.ndarray, " n"] | None = None
    shift: int = 0
    moves: Int64[np.ndarray, "n 2"] | None = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The positions of each image, which count as one."""
        return np.ones(len(self.places), dtype=np.int64)

    def gather(self, rows: Sequence[int]) -> tuple[Shaped[Tensor, "b d y x"], Bool[Tensor, "b 1"]]:
        """Return some images as one batch, and a mask that is True everywhere.

        Args:
            rows: the numbers of the sources, counted from 0.
        """
        chosen = [
            (self.files[self.places[row]], self.mirrored is not None and bool(self.mirrored[row])) for row in rows
        ]
        seen = [self.reader(file, mirrored) for file, mirrored in chosen]
        if self.moves is not None:
            seen = [move(each, *self.moves[row].tolist()) for each, row in zip(seen, rows, strict=True)]
        batch = np.stack(seen)
        return torch.from_numpy(batch), torch.ones(len(rows), 1, dtype=torch.bool)

    def fill(self, *, training: bool = False, progress: Progress | None = None) -> None:
        """Compute all features that are not in the cache yet, for training those of the mirror images too.

        Args:
            training: whether training reads them, so that mirror images are needed, if there are any.
            progress: called with how many are done and how many there are; None reports nothing.
        """
        self.reader.fill(self.files, mirror=training and self.mirror, progress=progress)

    def keys(self) -> Iterable[Hashable]:
        """Return the place of each source's image among all images."""
        return self.places.tolist()

    def vary(self, *, seed: int, epoch: int) -> "ImageSources":
        """Return the images as one epoch of training sees them: half of them, by chance, as in a mirror, and moved.

        Args:
            seed: the seed of the training.
            epoch: the number of the epoch, from 0; the same seed and epoch give the same images.
        """
        varied = self
        if self.mirror:
            chance = np.random.default_rng([seed, epoch, 1])  # 1: another stream than that of the order of batches
            varied = replace(varied, mirrored=chance.random(len(self)) < 0.5)
        if self.shift:
            chance = np.random.default_rng([seed, epoch, 2])
            varied = replace(varied, moves=chance.integers(-self.shift, self.shift, (len(self), 2), endpoint=True))
        return varied


def move(pixels: UInt8[np.ndarray, "c y x"], down: int, right: int) -> UInt8[np.ndarray, "c y x"]:
    """Return an image moved by some pixels; what was at its edges fills the gap.

    Args:
        pixels: the values of an image, `[c y x]`.
        down: the number of rows to move it down by; a negative number moves it up.
        right: the number of columns to move it to the right by; a negative number moves it to the left.
    """
    rows, columns = (np.arange(side) - by for side, by in zip(pixels.shape[1:], (down, right), strict=True))
    return pixels[:, rows.clip(0, len(rows) - 1)][:, :, columns.clip(0, len(columns) - 1)]
