"""The Neural Turing Machine as decoder: a controller that reads a memory with addressing heads."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.encoders.ntm_encoder import LSTM
from seq2see.models.initial_state import InitialState
from seq2see.nn.cell import Cell, CellState
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.ntm_head import CircularRows, NtmHead, arrange_circularly


@dataclass(frozen=True)
class NtmMemory:
    """Holds what is constant for each source: its memory, as heads see it.

    Args:
        keys: the rows as keys for addressing by content, [b 1 s w].
        memory: the rows of the memory, [b s w].
        rows: which rows are real, and the neighbours of each row in the circle.
    """

    keys: Float[Tensor, "b 1 s w"]
    memory: Float[Tensor, "b s w"]
    rows: CircularRows


@dataclass(frozen=True)
class NtmState:
    """Holds the state of the decoder.

    Args:
        cell: the state of the controller, [n d] each.
        weights: the weights of each head over the rows, [n h s].
        read_vectors: the vectors that the heads read, side by side, [n r] with r = h w.
    """

    cell: CellState
    weights: Float[Tensor, "n h s"]
    read_vectors: Float[Tensor, "n r"]


class NtmDecoder(nn.Module):
    """Writes a target with a controller whose heads read the memory and do not write to it.

    Graves, Wayne & Danihelka 2014 (arXiv:1410.5401), section 3. After an ntm encoder the heads continue from the
    weights of its heads; after another encoder the rows of the memory are its states, and the heads start on the first
    one.

    Args:
        vocabulary: number of target tokens v.
        memory_size: channels w of a row of the memory.
        initial_state: the controller's state before the first step.
        cell: the controller.
        embedding_size: channels e of the target embeddings.
        size: channels d of the controller's state.
        heads: number of heads that read.
        dropout: the dropout rate of embeddings and of what the output layer sees.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        initial_state: Part[InitialState],
        cell: Part[Cell] = LSTM,
        embedding_size: Count = 16,
        size: Count = 64,
        heads: Count = 1,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        self.cell: Cell = cell(input_size=embedding_size + heads * memory_size, size=size)
        self.initial_state: InitialState = initial_state(
            parts=self.cell.parts, size=size, layers=1, memory_size=memory_size
        )
        self.read_head = NtmHead(size=size, width=memory_size, heads=heads)
        self.output = nn.Linear(size + heads * memory_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[NtmMemory, NtmState]:
        """Return what is constant for each source, and the state before the first step.

        Args:
            memory: what the encoder returned for b sources; the heads continue from its `head_weights` if it has them.
        """
        weights = self.read_head.begin(memory.mask) if memory.head_weights is None else memory.head_weights
        if weights.shape[1] != self.read_head.heads:
            raise ConfigError(
                "the heads of an ntm decoder continue from those of its encoder, so both must have as many; got "
                f"{weights.shape[1]} in the encoder and {self.read_head.heads} in the decoder; set heads alike."
            )
        rows = arrange_circularly(memory.mask)
        reading = NtmMemory(self.read_head.prepare(memory.contents), memory.contents, rows)
        (cell,) = self.initial_state(memory)
        return reading, NtmState(cell, weights, self.read_head.read(weights, memory.contents))

    def step(
        self, tokens: Int[Tensor, " n"], state: NtmState, reading: NtmMemory
    ) -> tuple[Float[Tensor, "n v"], NtmState]:
        """Return the logits [n v] of the next token after one more token, and the state after it.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            reading: what `begin` returned, one row a source.
        """
        projected = self.cell.project(self.dropout(self.embed(tokens)))
        state = self._advance(projected, self._read_weights(), state, reading)
        return self.output(self.dropout(torch.cat([state.cell[0], state.read_vectors], dim=-1))), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Return what the output layer sees after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        projected, read_weights = self.cell.project(self.dropout(self.embed(tokens))), self._read_weights()
        reading, state = self.begin(memory)
        steps = []
        for step in projected.unbind(dim=1):
            state = self._advance(step, read_weights, state, reading)
            steps.append(torch.cat([state.cell[0], state.read_vectors], dim=-1))
        return self.dropout(torch.stack(steps, dim=1))

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        return self.output(self.features(tokens, memory))

    def _read_weights(self) -> Float[Tensor, "g r"]:
        """Return the weights of the controller for the vectors that its heads read."""
        return self.cell.columns(self.read_head.heads * self.read_head.width)

    def _advance(
        self, projected: Float[Tensor, "n g"], read_weights: Float[Tensor, "g r"], state: NtmState, reading: NtmMemory
    ) -> NtmState:
        """Take one step: the controller, then its heads."""
        cell = self.cell.advance(projected + F.linear(state.read_vectors, read_weights), state.cell)
        weights: Tensor = self.read_head(cell[0], reading.keys, reading.rows, state.weights)
        return NtmState(cell, weights, self.read_head.read(weights, reading.memory))
