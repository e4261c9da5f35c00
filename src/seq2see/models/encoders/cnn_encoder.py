"""The encoder of images by a backbone: the cells of one or several of its feature maps."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.backbones.backbone import FeatureMap
from seq2see.models.backbones.build_backbone import build_backbone
from seq2see.nn.dropout import Dropout
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.position import Position

# images that a frozen backbone computes at once: blocks of more than 32 MB are paged in anew each time
MAX_FROZEN_IMAGES = 2


class CnnEncoder(nn.Module):
    """Reads an image with a convolutional backbone: each cell of its feature maps becomes one state.

    Xu et al. 2015 (arXiv:1502.03044), section 3.1.1, where the states are called annotations.

    Args:
        image_size: pixels a side of an image.
        backbone: efficientnet_lite0 to 2; small or cells, which are trained from scratch; transformers:NAME_OR_FOLDER;
            or several pretrained ones.
        layer: the index of the map, from 0 for the first, or from -1 for the last one; with several backbones the
            maps of the next one follow those of the one before. Several maps are summed, cell by cell.
        grid: the cells of several maps: with finest, the coarser maps are interpolated to the finest one; with
            coarsest, a cell joins all cells of a finer map that lie in it.
        pool: whether to use only the mean of each map, as one cell.
        freeze: whether a pretrained backbone stays as it is; one from scratch always learns.
        size: channels of the memory.
        position: a position encoding of the cells, beyond what the backbone knows of positions.
        position_in: states adds the positions p to the sum h of all maps. With values, attention compares the cells of
            the first map alone, wherever they are, and sums relu(W (h + p) + b).
        dropout: the dropout rate of the memory.
    """

    def __init__(
        self,
        *,
        image_size: int,
        backbone: str | tuple[str, ...] = "efficientnet_lite0",
        layer: int | tuple[int, ...] = -1,
        grid: Literal["finest", "coarsest"] = "finest",
        pool: bool = False,
        freeze: bool = True,
        size: Count = 256,
        position: Part[Position] | None = None,
        position_in: Literal["states", "values"] = "states",
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.image_size, self.memory_size = image_size, size
        self.backbone = build_backbone(backbone, image_size=image_size)
        self.frozen = freeze and self.backbone.pretrained
        self.backbone.requires_grad_(not self.frozen)
        self.chosen, self.pool = (layer,) if isinstance(layer, int) else layer, pool
        self.channels, self.sides = self._measure()
        self.folds = [
            side // min(self.sides) for side in self.sides
        ]  # cells a side of each map in a cell of the coarsest
        self.joins = grid == "coarsest"
        self.side = (min if self.joins else max)(self.sides)
        widths = [self.channels, self._count_folded()][self.joins]
        self.norms: TypedModuleList[nn.LayerNorm] = TypedModuleList(nn.LayerNorm(width) for width in widths)
        self.projects: TypedModuleList[nn.Linear] = TypedModuleList(nn.Linear(width, size) for width in widths)
        self.position: Position | None = None if position is None else position(size=size)
        if position is None and position_in == "values":
            raise ConfigError("position_in: values must have a position encoding; got none; add position: learned.")
        self.place: nn.Linear | None = nn.Linear(size, size) if position_in == "values" else None
        self.dropout = Dropout(dropout)

    @property
    def frozen_key(self) -> str | None:
        """Return what the features depend on besides the pixels; None if they change in training."""
        return f"{self.backbone.fingerprint()} {self.chosen}{' mean' if self.pool else ''}" if self.frozen else None

    @torch.no_grad()
    def see(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        """Return the chosen maps at the coarsest grid, for a cache; the cells of finer maps are further channels.

        Args:
            pixels: images of `image_size` pixels a side, three channels from 0 to 255, [b 3 y x].
        """
        return self._fold(pixels.to(self.backbone.mean.device))

    def forward(self, source: UInt8[Tensor, "b 3 y x"] | Float[Tensor, "b d u v"], mask: Bool[Tensor, "b 1"]) -> Memory:
        """Encode pixels, or what `see` returned for them.

        Args:
            source: pixels [b 3 y x] as integers, or features [b d u v] as floats.
            mask: [b 1]; it has no effect, because every cell of an image is real.
        """
        folded = source.to(self.backbone.mean.dtype) if source.is_floating_point() else self._fold(source)
        maps = self._project(folded)
        joined = torch.stack(maps).sum(dim=0)
        placed = joined if self.position is None else joined + self.position(0, joined.shape[1])
        states = self.dropout(maps[0] if self.place is not None else placed)
        values = None if self.place is None else F.relu(self.place(self.dropout(placed)))
        cells = states.new_ones(states.shape[:2], dtype=torch.bool)
        return Memory(states=states, mask=cells, values=values, summary=states.mean(dim=1), grid=(self.side, self.side))

    @property
    def cells(self) -> int:
        """Return how many states an image has."""
        return self.side**2

    def places(self) -> Float[Tensor, "y x d"] | None:
        """Return the position encoding of each cell, if there is one."""
        side = self.side
        return None if self.position is None else self.position(0, side * side).unflatten(0, (side, side))

    def _measure(self) -> tuple[list[int], list[int]]:
        """Return channels and cells a side of the chosen maps; truncate a backbone from scratch after the last one."""
        probe = torch.zeros(1, 3, self.image_size, self.image_size, dtype=torch.uint8)
        with torch.no_grad():
            maps = self.backbone.eval()(probe)
        wrong = [layer for layer in self.chosen if not -len(maps) <= layer < len(maps)]
        if wrong or not self.chosen:
            raise ConfigError(f"layer must be one or several of 0 to {len(maps) - 1}; got {list(self.chosen)}.")
        if not self.backbone.pretrained:
            self.chosen = tuple(layer % len(maps) for layer in self.chosen)
            self.backbone.truncate(max(self.chosen) + 1)
        shapes = [self._pick(maps, layer).shape for layer in self.chosen]
        self.backbone.train()
        channels, sides = [shape[1] for shape in shapes], [shape[2] for shape in shapes]
        if any(shape[2] != shape[3] for shape in shapes) or any(side % min(sides) for side in sides):
            raise ConfigError(
                f"maps that are joined must be squares whose sides divide each other; got {sides} cells; choose "
                "another layer, or a size of images that is a multiple of 32."
            )
        return channels, sides

    def _fold(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        if pixels.shape[2:] != (self.image_size, self.image_size):
            size, got = self.image_size, "x".join(map(str, pixels.shape[2:]))
            raise DataError(f"this model reads images of {size}x{size} pixels; got {got}; give images of that size.")
        if torch.is_grad_enabled() and not self.frozen:
            return self._fold_some(pixels)
        with torch.no_grad():
            return torch.cat([self._fold_some(some) for some in pixels.split(MAX_FROZEN_IMAGES)])

    def _fold_some(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        maps = (self.backbone.for_inference if self.frozen else self.backbone)(pixels)
        chosen = zip(self.chosen, self.folds, strict=True)
        return torch.cat([F.pixel_unshuffle(self._pick(maps, layer), fold) for layer, fold in chosen], dim=1)

    def _pick(self, maps: list[FeatureMap], layer: int) -> FeatureMap:
        return maps[layer].mean(dim=(2, 3), keepdim=True) if self.pool else maps[layer]

    def _project(self, folded: Float[Tensor, "b d u v"]) -> list[Float[Tensor, "b s c"]]:
        """Return all maps at one grid, each normalised, so that none dominates their sum.

        A map is projected before it is interpolated: both are linear, so the result is the same, and a coarse map of
        many channels is projected at its few cells only.
        """
        parts = zip(folded.split(self._count_folded(), dim=1), self.folds, self.norms, self.projects, strict=True)
        maps = [
            project(norm((each if self.joins else F.pixel_shuffle(each, fold)).movedim(1, 3)))
            for each, fold, norm, project in parts
        ]
        return [self._interpolate(cells) for cells in maps]

    def _count_folded(self) -> list[int]:
        """Return the channels of each map at the coarsest grid."""
        return [channels * fold**2 for channels, fold in zip(self.channels, self.folds, strict=True)]

    def _interpolate(self, cells: Float[Tensor, "b u v c"]) -> Float[Tensor, "b s c"]:
        if cells.shape[1] < self.side:
            cells = F.interpolate(cells.movedim(3, 1), size=(self.side, self.side), mode="bilinear").movedim(1, 3)
        return cells.flatten(1, 2)
