"""Position encodings: the vectors that are added to embeddings to tell their positions."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import TokenError
from seq2see.core.option_types import Count

FIRST_TABLE_POSITIONS = 256  # of the sinusoidal table, before it has to grow


class Position(nn.Module):
    """Base of the position encodings: one vector for each position."""

    def forward(self, start: int, length: int) -> Float[Tensor, "t d"]:
        """Return the vectors of some positions in a row, [t d].

        Args:
            start: the first position; positions count from 0.
            length: the number of positions t.
        """
        raise NotImplementedError

    def first(self, count: int) -> Float[Tensor, "t d"]:
        """Return the vectors of the first positions, [t d].

        Args:
            count: how many positions; a table with fewer vectors gives them all.
        """
        return self(0, count)

    def at(self, positions: Int[Tensor, "n t"]) -> Float[Tensor, "n t d"]:
        """Return the vectors of any positions of outputs; none is refused, because no user chooses their length.

        Args:
            positions: positions from 0, [n t].
        """
        return F.embedding(positions, self(0, int(positions.max()) + 1))


class Sinusoidal(Position):
    """Encodes position p as sin(p / 10000^(2i/d)) in channel 2i and as cos of the same in channel 2i + 1.

    Vaswani et al. 2017 (arXiv:1706.03762), section 3.5. Every position has a vector.

    Args:
        size: channels d.
    """

    table: Tensor

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("table", self._compute(FIRST_TABLE_POSITIONS), persistent=False)

    def forward(self, start: int, length: int) -> Float[Tensor, "t d"]:
        if start + length > len(self.table):
            self.table = self._compute(2 * (start + length)).to(self.table)
        return self.table[start : start + length]

    def _compute(self, length: int) -> Float[Tensor, "t d"]:
        channels = torch.arange(0, self.size, 2, dtype=torch.float64)
        angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * torch.exp(
            -channels * (math.log(10_000) / self.size)
        )
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, : self.size].float()


class Learned(Position):
    """Learns one vector for each position up to a limit (Gehring et al. 2017, arXiv:1705.03122, section 3.1).

    Training refuses longer texts; outside of training the last vector is used for all positions after it.

    Args:
        size: channels d.
        max_positions: how many positions have a vector.
    """

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
            return self.at(torch.arange(start, start + length, device=self.weight.device).unsqueeze(0)).squeeze(0)
        return self.weight[start : start + length]

    def first(self, count: int) -> Float[Tensor, "t d"]:
        return self.weight[:count]

    def at(self, positions: Int[Tensor, "n t"]) -> Float[Tensor, "n t d"]:
        # the last vector is used for all positions after it: one output that is too long must not stop a prediction
        return F.embedding(positions.clamp(max=len(self.weight) - 1), self.weight)
