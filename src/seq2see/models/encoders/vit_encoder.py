"""The Vision Transformer: an image as a sequence of patches."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.encoders.transformer_encoder import SCALED_DOT, SOFTMAX, TransformerEncoderLayer
from seq2see.nn.dropout import Dropout
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score
from seq2see.nn.transformer_block import Norm

# standard deviation of positions at first: projected patches have about 1, and hide the 0.02 of the paper for long
POSITION_STD = 0.5
CLASS_TOKEN_STD = 0.02


class VitEncoder(nn.Module):
    """Reads an image as a sequence of patches: z = [class; x_1 E; ...; x_n E] + positions, then Transformer layers.

    Dosovitskiy et al. 2021 (arXiv:2010.11929), eq. 1-4, with patches x_i.

    Args:
        image_size: pixels a side of an image.
        patch: pixels a side of a patch; must divide `image_size`.
        size: channels d of a layer.
        inner_size: channels of the feed-forward network's hidden layer.
        layers: number of layers.
        heads: attention heads.
        norm: `pre` or `post` layer normalisation.
        class_token: whether a learned token before the patches becomes the summary; else it is the mean of the patches.
        score: the score function.
        normalise: the normaliser.
        dropout: the dropout rate of embeddings and sublayers.
    """

    def __init__(
        self,
        *,
        image_size: int,
        patch: Count = 16,
        size: Count = 128,
        inner_size: Count = 256,
        layers: Count = 4,
        heads: Count = 4,
        norm: Norm = "pre",
        class_token: bool = True,
        score: Part[Score] = SCALED_DOT,
        normalise: Part[Normaliser] = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        if image_size % patch:
            raise ConfigError(
                f"patch must divide the size of the images; got a patch of {patch} and images of {image_size} "
                "pixels a side; change one of them."
            )
        self.memory_size, self.patch = size, patch
        self.project_patches = nn.Conv2d(3, size, kernel_size=patch, stride=patch)
        nn.init.xavier_uniform_(self.project_patches.weight.data.flatten(1))
        side = image_size // patch
        self.positions = nn.Parameter(torch.randn(side, side, size) * POSITION_STD)
        self.class_token = nn.Parameter(torch.randn(size) * CLASS_TOKEN_STD) if class_token else None
        self.dropout = Dropout(dropout)
        self.layers: TypedModuleList[TransformerEncoderLayer] = TypedModuleList(
            TransformerEncoderLayer(
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
        """Encode pixels; for images of another size than in training the learned positions are interpolated.

        Args:
            pixels: images of three channels from 0 to 255, [b 3 y x]; the patch size must divide both sides.
            mask: [b 1]; it has no effect, because every patch of an image is real.
        """
        patches = self.project_patches(self._scale(pixels)).movedim(1, 3)
        grid = (patches.shape[1], patches.shape[2])
        states = (patches + self._interpolate_positions(*grid)).flatten(1, 2)
        if self.class_token is not None:
            states = torch.cat([self.class_token.expand(len(states), 1, -1), states], dim=1)
        states = self.dropout(states)
        mask_of_patches = states.new_ones(states.shape[:2], dtype=torch.bool)
        for layer in self.layers:
            states = layer(states, mask_of_patches[:, None, None, :])
        states = self.norm(states)
        if self.class_token is None:
            return Memory(states=states, mask=mask_of_patches, summary=states.mean(dim=1), grid=grid)
        return Memory(states=states[:, 1:], mask=mask_of_patches[:, 1:], summary=states[:, 0], grid=grid)

    @property
    def cells(self) -> int:
        """Return how many patches an image has."""
        return self.positions.shape[0] * self.positions.shape[1]

    def places(self) -> Float[Tensor, "y x d"]:
        """Return the position vectors of all patches."""
        return self.positions

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that a decoder may share, layer by layer."""
        return [[layer.self_attention, layer.feed_forward] for layer in self.layers]

    def _scale(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b 3 y x"]:
        """Scale pixels from 0..255 to -1..1."""
        height, width = pixels.shape[2:]
        if height % self.patch or width % self.patch:
            nearest = self.patch * max(1, round(math.sqrt(height * width) / self.patch))
            raise DataError(
                f"an image must be cut into patches of {self.patch} pixels without a rest; got {height}x{width} "
                f"pixels; make it {nearest}x{nearest}."
            )
        return pixels.to(self.positions.dtype) / 127.5 - 1

    def _interpolate_positions(self, rows: int, columns: int) -> Float[Tensor, "y x d"]:
        """Return the positions of a grid, by interpolation if it is not the learned one (section 3.2)."""
        if (rows, columns) == self.positions.shape[:2]:
            return self.positions
        planes = self.positions.movedim(2, 0).unsqueeze(0)
        return F.interpolate(planes, size=(rows, columns), mode="bicubic").squeeze(0).movedim(0, 2)
