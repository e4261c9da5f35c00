"""The recurrent encoder: LSTM or GRU, one or both directions, any number of layers."""

from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.nn.cell import CellState, Direction, read_sequence
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed

WAYS: dict[str, tuple[Direction, ...]] = {
    "forward": ("forward",),
    "backward": ("backward",),
    "both": ("forward", "backward"),
}


class RnnEncoder(nn.Module):
    """Reads a source token by token; `size` is the width of one direction.

    directions: forward; backward, which is Sutskever's reversed source with the states in source order; both; or
    first, which is both in the first layer and forward in the others (Wu et al. 2016, section 3.2).
    residual_from: from this layer on, a layer's input is added to its output (section 3.1, eq. 6).
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        directions: Literal["forward", "backward", "both", "first"] = "both",
        residual_from: Annotated[int, Ge(2)] | None = None,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        names = ["both"] + ["forward"] * (layers - 1) if directions == "first" else [directions] * layers
        self.ways = [WAYS[name] for name in names]
        self.residual_from = residual_from
        if directions == "first" and residual_from == 2:
            raise ConfigError(
                "directions: first makes the input of the second layer twice as wide as its output, so residual_from "
                "must be at least 3; got 2."
            )
        self.memory_size = size * len(self.ways[-1])
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        widths = [embedding_size, *(size * len(ways) for ways in self.ways[:-1])]
        self.layers = nn.ModuleList(
            nn.ModuleList(cell(input_size=width, size=size) for _ in ways)
            for width, ways in zip(widths, self.ways, strict=True)
        )

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; what stands at masked positions changes nothing."""
        states: Tensor = self.dropout(self.embed(tokens))
        carry = []
        for number in range(len(self.layers)):
            read, last = self._read(number, self.dropout(states) if number else states, mask)
            states = states + read if self.residual_from and number + 1 >= self.residual_from else read
            carry.append(last)
        # padding is zeroed so that nobody who forgets the mask can read from it
        states = states * mask.unsqueeze(2)
        return Memory(states=self.dropout(states), mask=mask, summary=carry[-1][0], carry=tuple(carry))

    def own_layers(self) -> list[list[nn.Module]]:
        """What a decoder may share, layer by layer: the first direction."""
        return [[layer.get_submodule("0")] for layer in self.layers]

    def _read(
        self, number: int, states: Float[Tensor, "b s i"], mask: Bool[Tensor, "b s"]
    ) -> tuple[Float[Tensor, "b s d"], CellState]:
        layer: Any = self.layers[number]
        read = [read_sequence(cell, states, mask, way) for cell, way in zip(layer, self.ways[number], strict=True)]
        outputs, lasts = zip(*read, strict=True)
        return torch.cat(outputs, dim=2), tuple(torch.cat(parts, dim=1) for parts in zip(*lasts, strict=True))
