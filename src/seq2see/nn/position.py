"""Positions: what is added to an embedding to say where it stands."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import TokenError
from seq2see.core.shapes import Count


class Position(nn.Module):
    """Base of the positions: a vector for each place from `start` on."""

    def forward(self, start: int, length: int) -> Float[Tensor, "t d"]:
        """The vectors of `length` places."""
        raise NotImplementedError

    def first(self, most: int) -> Float[Tensor, "t d"]:
        """The vectors of the first places, as many as there are of those asked for."""
        return self(0, most)

    def at(self, places: Int[Tensor, "n t"]) -> Float[Tensor, "n t d"]:
        """The vectors of any places, for outputs: their length is nobody's input, so no place is too far."""
        return F.embedding(places, self(0, int(places.max()) + 1))


class Sinusoidal(Position):
    """Vaswani et al. 2017, section 3.5: sin(p / 10000^(2i/d)) in the even channels, cos in the odd ones."""

    table: Tensor

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("table", self._compute(256), persistent=False)

    def forward(self, start: int, length: int) -> Float[Tensor, "t d"]:
        if start + length > len(self.table):  # any length will do
            self.table = self._compute(2 * (start + length)).to(self.table)
        return self.table[start : start + length]

    def _compute(self, length: int) -> Float[Tensor, "t d"]:
        channels = torch.arange(0, self.size, 2, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * torch.exp(
            -channels * (math.log(10_000) / self.size)
        )
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, : self.size].float()


class Learned(Position):
    """Gehring et al. 2017, section 3.1: a learned vector for each place, up to a limit."""

    def __init__(self, *, size: int, max_positions: Count = 512) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(max_positions, size) * 0.1)

    def forward(self, start: int, length: int) -> Float[Tensor, "t d"]:
        if start + length > len(self.weight):
            if self.training:
                raise TokenError(
                    f"learned positions end at {len(self.weight)}; got a text of {start + length} tokens; "
                    "shorten it, use sinusoidal positions, or train with a larger max_positions."
                )
            return self.at(torch.arange(start, start + length).unsqueeze(0)).squeeze(0)
        return self.weight[start : start + length]

    def first(self, most: int) -> Float[Tensor, "t d"]:
        return self.weight[:most]

    def at(self, places: Int[Tensor, "n t"]) -> Float[Tensor, "n t d"]:
        # the last vector stands for all places after it: one text that runs on must not stop a whole prediction
        return F.embedding(places.clamp(max=len(self.weight) - 1), self.weight)
