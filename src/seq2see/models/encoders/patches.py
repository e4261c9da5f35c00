"""The Vision Transformer: a picture as a sequence of patches."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.encoders.transformer import SCALED_DOT, SOFTMAX, EncoderLayer
from seq2see.nn.block import Norm
from seq2see.nn.dropout import Dropout

PLACED = 0.5  # size of positions at first; patches are about 1 large, and would drown the 0.02 of the paper for a while


class PatchEncoder(nn.Module):
    """Dosovitskiy et al. 2021, eq. 1-4: z = [class; x_1 E; ...; x_n E] + positions, then Transformer layers.

    patch: pixels a side of a patch.
    class_token: whether a learned token goes through the layers in front of the patches, to become the summary; without
    it the summary is the mean of the patches.
    """

    def __init__(
        self,
        *,
        picture_size: int,
        patch: Count = 16,
        size: Count = 128,
        inner_size: Count = 256,
        layers: Count = 4,
        heads: Count = 4,
        norm: Norm = "pre",
        class_token: bool = True,
        score: Part = SCALED_DOT,
        normalise: Part = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        if picture_size % patch:
            raise ConfigError(
                f"patch must divide the size of the pictures; got a patch of {patch} and pictures of {picture_size} "
                "pixels a side; change one of them."
            )
        self.memory_size, self.patch = size, patch
        self.cut = nn.Conv2d(3, size, kernel_size=patch, stride=patch)
        nn.init.xavier_uniform_(self.cut.weight.data.flatten(1))
        side = picture_size // patch
        self.positions = nn.Parameter(torch.randn(side, side, size) * PLACED)
        self.token = nn.Parameter(torch.randn(size) * 0.02) if class_token else None
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                size=size,
                inner_size=inner_size,
                heads=heads,
                norm=norm,
                score=score,
                normalise=normalise,
                dropout=dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm == "pre" else nn.Identity()

    def forward(self, pixels: UInt8[Tensor, "b 3 y x"], mask: Bool[Tensor, "b 1"]) -> Memory:
        """Encode pixels; pictures of another size than that of training have other positions between the learned."""
        cut = self.cut(self._scale(pixels)).movedim(1, 3)
        grid = (cut.shape[1], cut.shape[2])
        states = (cut + self._place(*grid)).flatten(1, 2)
        if self.token is not None:
            states = torch.cat([self.token.expand(len(states), 1, -1), states], dim=1)
        states = self.dropout(states)
        seen = torch.ones(states.shape[:2], dtype=torch.bool)
        for layer in self.layers:
            states = layer(states, seen[:, None, None, :])
        states = self.norm(states)
        if self.token is None:
            return Memory(states=states, mask=seen, summary=states.mean(dim=1), grid=grid)
        return Memory(states=states[:, 1:], mask=seen[:, 1:], summary=states[:, 0], grid=grid)

    def places(self) -> Float[Tensor, "y x d"]:
        """What says where a patch stands."""
        return self.positions

    def own_layers(self) -> list[list[nn.Module]]:
        """What a decoder may share, layer by layer."""
        return [[layer.get_submodule("own"), layer.get_submodule("feed")] for layer in self.layers]

    def _scale(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b 3 y x"]:
        """Pixels from -1 to 1."""
        height, width = pixels.shape[2:]
        if height % self.patch or width % self.patch:
            nearest = self.patch * max(1, round(math.sqrt(height * width) / self.patch))
            raise DataError(
                f"a picture must be cut into patches of {self.patch} pixels without a rest; got {height}x{width} "
                f"pixels; make it {nearest}x{nearest}."
            )
        return pixels.to(self.positions.dtype) / 127.5 - 1

    def _place(self, rows: int, columns: int) -> Float[Tensor, "y x d"]:
        """The positions of a grid; section 3.2: of another grid than the learned one by interpolation."""
        if (rows, columns) == self.positions.shape[:2]:
            return self.positions
        planes = self.positions.movedim(2, 0).unsqueeze(0)
        return F.interpolate(planes, size=(rows, columns), mode="bicubic").squeeze(0).movedim(0, 2)
