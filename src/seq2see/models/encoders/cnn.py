"""The encoder of pictures that rests on a backbone: cells of one or several of its maps."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.backbones import Map, build_backbone
from seq2see.nn.dropout import Dropout

AT_ONCE = 2  # pictures in a backbone that does not learn: blocks of more than 32 MB are paged in anew each time


class CnnEncoder(nn.Module):
    """Xu et al. 2015, section 3.1.1: the cells of a map of features are the annotations, one state each.

    backbone: efficientnet_lite0 to 2, small or cells (from scratch), transformers:NAME_OR_FOLDER, or several of those
    that others trained.
    layer: which map of the backbone, as Python counts, on from one backbone to the next; of several the coarser ones
    are stretched to the finest.
    pool: only the mean of each map, as one cell.
    freeze: keep a backbone as others trained it; one from scratch always learns.
    position: what is added to say where a cell stands, beyond what the backbone knows of it.
    """

    def __init__(
        self,
        *,
        picture_size: int,
        backbone: str | tuple[str, ...] = "efficientnet_lite0",
        layer: int | tuple[int, ...] = -1,
        pool: bool = False,
        freeze: bool = True,
        size: Count = 256,
        position: Part | None = None,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.picture_size, self.memory_size = picture_size, size
        self.backbone = build_backbone(backbone, picture_size=picture_size)
        self.frozen = freeze and self.backbone.pretrained
        self.backbone.requires_grad_(not self.frozen)
        self.chosen, self.pool = (layer,) if isinstance(layer, int) else layer, pool
        self.channels, self.sides = self._measure()
        self.folds = [side // min(self.sides) for side in self.sides]  # what the finer maps are folded by, to be kept
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for channels in self.channels)
        self.projects = nn.ModuleList(nn.Linear(channels, size) for channels in self.channels)
        self.position = None if position is None else position(size=size)
        self.dropout = Dropout(dropout)

    @property
    def frozen_key(self) -> str | None:
        """What the features depend on besides the pixels; None if they change while the model learns."""
        return f"{self.backbone.fingerprint()} {self.chosen}{' mean' if self.pool else ''}" if self.frozen else None

    @torch.no_grad()
    def see(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        """The chosen maps, the finer ones folded to the coarsest, so that nothing is kept twice."""
        return self._fold(pixels)

    def forward(self, source: UInt8[Tensor, "b 3 y x"] | Float[Tensor, "b d u v"], mask: Bool[Tensor, "b 1"]) -> Memory:
        """Encode pixels, or what `see` made of them."""
        folded = source.to(self.backbone.mean.dtype) if source.is_floating_point() else self._fold(source)
        states = self._join(folded)
        if self.position is not None:
            states = states + self.position(0, states.shape[1])
        states = self.dropout(states)
        seen = torch.ones(states.shape[:2], dtype=torch.bool)
        side = max(self.sides)
        return Memory(states=states, mask=seen, summary=states.mean(dim=1), grid=(side, side))

    def places(self) -> Float[Tensor, "y x d"] | None:
        """What says where a cell stands, beyond what the backbone knows of it."""
        side = max(self.sides)
        return None if self.position is None else self.position(0, side * side).unflatten(0, (side, side))

    def _measure(self) -> tuple[list[int], list[int]]:
        """Channels and cells a side of the chosen maps; a backbone from scratch ends with the last of them."""
        blank = torch.zeros(1, 3, self.picture_size, self.picture_size, dtype=torch.uint8)
        with torch.no_grad():
            maps = self.backbone.eval()(blank)
        wrong = [layer for layer in self.chosen if not -len(maps) <= layer < len(maps)]
        if wrong or not self.chosen:
            raise ConfigError(f"layer must be one or several of 0 to {len(maps) - 1}; got {list(self.chosen)}.")
        if not self.backbone.pretrained:  # what nobody reads need not be computed
            self.chosen = tuple(layer % len(maps) for layer in self.chosen)
            self.backbone.cut(max(self.chosen) + 1)
        shapes = [self._pick(maps, layer).shape for layer in self.chosen]
        self.backbone.train()
        channels, sides = [shape[1] for shape in shapes], [shape[2] for shape in shapes]
        if any(shape[2] != shape[3] for shape in shapes) or any(side % min(sides) for side in sides):
            raise ConfigError(
                f"maps that are joined must be squares whose sides divide each other; got {sides} cells; choose "
                "another layer, or a size of pictures that is a multiple of 32."
            )
        return channels, sides

    def _fold(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        if pixels.shape[2:] != (self.picture_size, self.picture_size):
            size, got = self.picture_size, "x".join(map(str, pixels.shape[2:]))
            raise DataError(
                f"this model reads pictures of {size}x{size} pixels; got {got}; give pictures of that size."
            )
        if torch.is_grad_enabled() and not self.frozen:
            return self._fold_some(pixels)
        with torch.no_grad():
            return torch.cat([self._fold_some(some) for some in pixels.split(AT_ONCE)])

    def _fold_some(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        maps = (self.backbone.still if self.frozen else self.backbone)(pixels)
        chosen = zip(self.chosen, self.folds, strict=True)
        return torch.cat([F.pixel_unshuffle(self._pick(maps, layer), fold) for layer, fold in chosen], dim=1)

    def _pick(self, maps: list[Map], layer: int) -> Map:
        return maps[layer].mean(dim=(2, 3), keepdim=True) if self.pool else maps[layer]

    def _join(self, folded: Float[Tensor, "b d u v"]) -> Float[Tensor, "b s c"]:
        """The sum of all maps at the finest grid; each is normalised, so that none drowns another.

        A map is projected before it is stretched: the same, because both are linear, and a coarse map of many channels
        costs its few cells.
        """
        widths = [channels * fold**2 for channels, fold in zip(self.channels, self.folds, strict=True)]
        parts = zip(folded.split(widths, dim=1), self.folds, self.norms, self.projects, strict=True)
        maps = [project(norm(F.pixel_shuffle(each, fold).movedim(1, 3))) for each, fold, norm, project in parts]
        return torch.stack([self._stretch(cells) for cells in maps]).sum(dim=0)

    def _stretch(self, cells: Float[Tensor, "b u v c"]) -> Float[Tensor, "b s c"]:
        side = max(self.sides)
        if cells.shape[1] < side:
            cells = F.interpolate(cells.movedim(3, 1), size=(side, side), mode="bilinear").movedim(1, 3)
        return cells.flatten(1, 2)
