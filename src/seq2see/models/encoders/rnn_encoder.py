"""The recurrent encoder: LSTM or GRU, one or both directions, any number of layers."""

from typing import Annotated, Literal

import torch
from annotated_types import Ge
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.nn.cell import Cell, CellState, Direction, read_sequence
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.module_list import TypedModuleList

DIRECTIONS: dict[str, tuple[Direction, ...]] = {
    "forward": ("forward",),
    "backward": ("backward",),
    "both": ("forward", "backward"),
}


class RnnEncoder(nn.Module):
    """Reads a source token by token with recurrent cells, in one direction or both.

    Bidirectional as in Bahdanau et al. 2015 (arXiv:1409.0473), section 3.2.

    Args:
        vocabulary: number of source tokens v.
        cell: the recurrent cell.
        embedding_size: channels e of the source embeddings.
        size: channels d of one direction.
        layers: number of layers.
        directions: `forward`; `backward`, which is the reversed source of Sutskever et al. 2014 (arXiv:1409.3215) with
            the states in source order; `both`; or `first`, which is both in the first layer and forward in the others
            (Wu et al. 2016, arXiv:1609.08144, section 3.2).
        residual_from: from this layer on, counted from 1, a layer's input is added to its output (Wu et al. 2016, eq.
            6); None for no residual connections.
        dropout: the dropout rate of embeddings, between layers and of the memory.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part[Cell],
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        directions: Literal["forward", "backward", "both", "first"] = "both",
        residual_from: Annotated[int, Ge(2)] | None = None,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        names = ["both"] + ["forward"] * (layers - 1) if directions == "first" else [directions] * layers
        self.directions = [DIRECTIONS[name] for name in names]
        self.residual_from = residual_from
        if directions == "first" and residual_from == 2:
            raise ConfigError(
                "directions: first makes the input of the second layer twice as wide as its output, so residual_from "
                "must be at least 3; got 2."
            )
        self.memory_size = size * len(self.directions[-1])
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        widths = [embedding_size, *(size * len(each) for each in self.directions[:-1])]
        self.layers: TypedModuleList[TypedModuleList[Cell]] = TypedModuleList(
            TypedModuleList(cell(input_size=width, size=size) for _ in each)
            for width, each in zip(widths, self.directions, strict=True)
        )

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; masked positions change nothing.

        Args:
            tokens: ids of the sources, the end mark included, [b s].
            mask: True at tokens, False at padding.
        """
        states: Tensor = self.dropout(self.embed(tokens))
        final_states = []
        for number in range(len(self.layers)):
            read, last = self._read(number, self.dropout(states) if number else states, mask)
            states = states + read if self.residual_from and number + 1 >= self.residual_from else read
            final_states.append(last)
        # padding is zeroed so that a reader that ignores the mask finds nothing there
        states = states * mask.unsqueeze(2)
        return Memory(
            states=self.dropout(states), mask=mask, summary=final_states[-1][0], final_states=tuple(final_states)
        )

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that a decoder may share, layer by layer: the first direction."""
        return [[layer[0]] for layer in self.layers]

    def _read(
        self, number: int, states: Float[Tensor, "b s i"], mask: Bool[Tensor, "b s"]
    ) -> tuple[Float[Tensor, "b s d"], CellState]:
        cells = zip(self.layers[number], self.directions[number], strict=True)
        read = [read_sequence(cell, states, mask, direction) for cell, direction in cells]
        outputs, lasts = zip(*read, strict=True)
        return torch.cat(outputs, dim=2), tuple(torch.cat(parts, dim=1) for parts in zip(*lasts, strict=True))
