"""The recurrent encoder: LSTM or GRU, one or both directions, any number of layers."""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.nn.cell import CellState, Direction, read_sequence
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed


class RnnEncoder(nn.Module):
    """Reads a source token by token; `size` is the width of one direction.

    directions: forward; backward, which is Sutskever's reversed source with the states in source order; or both.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        directions: Literal["forward", "backward", "both"] = "both",
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.directions: tuple[Direction, ...] = ("forward", "backward") if directions == "both" else (directions,)
        self.memory_size = size * len(self.directions)
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        widths = [embedding_size] + [self.memory_size] * (layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(cell(input_size=width, size=size) for _ in self.directions) for width in widths
        )

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; what stands at masked positions changes nothing."""
        states: Tensor = self.dropout(self.embed(tokens))
        carry = []
        for number, layer in enumerate(self.layers):
            states, last = self._read(layer, self.dropout(states) if number else states, mask)
            carry.append(last)
        # padding is zeroed so that nobody who forgets the mask can read from it
        states = states * mask.unsqueeze(2)
        return Memory(states=self.dropout(states), mask=mask, summary=carry[-1][0], carry=tuple(carry))

    def _read(
        self, layer: Any, states: Float[Tensor, "b s i"], mask: Bool[Tensor, "b s"]
    ) -> tuple[Float[Tensor, "b s d"], CellState]:
        read = [read_sequence(cell, states, mask, way) for cell, way in zip(layer, self.directions, strict=True)]
        outputs, lasts = zip(*read, strict=True)
        return torch.cat(outputs, dim=2), tuple(torch.cat(parts, dim=1) for parts in zip(*lasts, strict=True))
