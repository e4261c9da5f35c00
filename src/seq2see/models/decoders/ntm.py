"""The Neural Turing Machine as decoder: a controller that reads a memory with heads of its own."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.encoders.ntm import LSTM
from seq2see.nn.cell import CellState
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.head import Head, Ring, close_ring


@dataclass(frozen=True)
class NtmReading:
    """What is constant for each source: its memory, as heads see it."""

    keys: Float[Tensor, "b 1 s w"]
    memory: Float[Tensor, "b s w"]
    ring: Ring


@dataclass(frozen=True)
class NtmState:
    """Where the decoder stands: its controller, where its heads are, and what they read."""

    cell: CellState
    read: Float[Tensor, "n h s"]
    seen: Float[Tensor, "n r"]


class NtmDecoder(nn.Module):
    """Graves, Wayne & Danihelka 2014, section 3: a controller whose heads read, and leave the memory as it is.

    Behind an encoder of the same kind they go on from where its heads stood; behind another its states are the rows.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        start: Part,
        cell: Part = LSTM,
        embedding_size: Count = 16,
        size: Count = 64,
        heads: Count = 1,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        self.cell: Any = cell(input_size=embedding_size + heads * memory_size, size=size)
        self.start = start(parts=self.cell.parts, size=size, layers=1, memory_size=memory_size)
        self.read = Head(size=size, width=memory_size, heads=heads)
        self.output = nn.Linear(size + heads * memory_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[NtmReading, NtmState]:
        """What is constant for each source, and the state before the first step."""
        read = self.read.begin(memory.mask) if memory.focus is None else memory.focus
        if read.shape[1] != self.read.heads:
            raise ConfigError(
                "the heads of an ntm decoder go on from those of its encoder, so both must have as many; got "
                f"{read.shape[1]} in the encoder and {self.read.heads} in the decoder."
            )
        reading = NtmReading(self.read.prepare(memory.contents), memory.contents, close_ring(memory.mask))
        (cell,) = self.start(memory)
        return reading, NtmState(cell, read, self.read.read(read, memory.contents))

    def step(
        self, tokens: Int[Tensor, " n"], state: NtmState, reading: NtmReading
    ) -> tuple[Float[Tensor, "n v"], NtmState]:
        """Logits of the next token after one more token."""
        projected = self.cell.project(self.dropout(self.embed(tokens)))
        state = self._advance(projected, self._columns(), state, reading)
        return self.output(self.dropout(torch.cat([state.cell[0], state.seen], dim=-1))), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Teacher forcing: what the output layer sees after each token."""
        projected, columns = self.cell.project(self.dropout(self.embed(tokens))), self._columns()
        reading, state = self.begin(memory)
        steps = []
        for entered in projected.unbind(dim=1):
            state = self._advance(entered, columns, state, reading)
            steps.append(torch.cat([state.cell[0], state.seen], dim=-1))
        return self.dropout(torch.stack(steps, dim=1))

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def _columns(self) -> Float[Tensor, "g r"]:
        """The weights of the controller for what its heads read."""
        return self.cell.columns(self.read.heads * self.read.width)

    def _advance(
        self, entered: Float[Tensor, "n g"], columns: Float[Tensor, "g r"], state: NtmState, reading: NtmReading
    ) -> NtmState:
        """One step: the controller, then its heads."""
        cell = self.cell.advance(entered + F.linear(state.seen, columns), state.cell)
        read: Tensor = self.read(cell[0], reading.keys, reading.ring, state.read)
        return NtmState(cell, read, self.read.read(read, reading.memory))
