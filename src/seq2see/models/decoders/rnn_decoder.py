"""The recurrent decoder: cells, a reader of the memory, an output layer."""

from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.initial_state import InitialState, LayerStates
from seq2see.models.readers.reader import Reader, ReaderMemory
from seq2see.nn.cell import Cell
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.module_list import TypedModuleList


@dataclass(frozen=True)
class RnnState:
    """Holds the state of a recurrent decoder.

    Args:
        cells: for each layer the tensors of its cell, [n d] each: (hidden,) of a GRU, (hidden, memory) of an LSTM.
        context: the context that the reader left after the last step, [n f]; zeros before the first one.
        position: number of tokens read so far, [n].
    """

    cells: LayerStates
    context: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]


class RnnDecoder(nn.Module):
    """Writes a target token by token with recurrent cells; reader and initial state make it the model of a paper.

    The models of Sutskever, Cho, Bahdanau, Luong, Wu (GNMT), Vinyals and Xu differ in their reader and initial state.

    Args:
        vocabulary: number of target tokens v.
        memory_size: channels m of the encoder's memory.
        cell: the recurrent cell.
        reader: how each step reads the memory.
        initial_state: the state before the first step.
        embedding_size: channels e of the target embeddings.
        size: channels d of a cell state.
        layers: number of layers.
        residual_from: from this layer on, counted from 1, a layer's input is added to its output (Wu et al. 2016,
            arXiv:1609.08144, eq. 6); None for no residual connections.
        dropout: the dropout rate of embeddings, between layers and in the reader.
        output_dropout: a further dropout rate of what the output layer sees.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        cell: Part[Cell],
        reader: Part[Reader],
        initial_state: Part[InitialState],
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        residual_from: Annotated[int, Ge(2)] | None = None,
        dropout: Rate = 0.0,
        output_dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.residual_from = residual_from
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        self.output_dropout = Dropout(output_dropout)
        sizes = {"size": size, "memory_size": memory_size, "embedding_size": embedding_size, "layers": layers}
        self.reader: Reader = reader(dropout=dropout, **sizes)
        upper = size + self.reader.input_context_size if self.reader.bottom_layer else size
        widths = [embedding_size + self.reader.input_context_size] + [upper] * (layers - 1)
        # the layers that a sequential reader makes go step by step
        self.sequential_layers = 1 if self.reader.bottom_layer else layers
        self.cells: TypedModuleList[Cell] = TypedModuleList(cell(input_size=width, size=size) for width in widths)
        self.initial_state: InitialState = initial_state(parts=self.cells[0].parts, **sizes)
        self.output = nn.Linear(self.reader.features_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[ReaderMemory, RnnState]:
        """Return what is constant for each source, and the state before the first step.

        Args:
            memory: what the encoder returned for b sources.
        """
        sources = memory.states.shape[0]
        context = memory.states.new_zeros(sources, self.reader.context_size)
        position = memory.states.new_zeros(sources, dtype=torch.long)
        cells, first_input = self.initial_state(memory), self.initial_state.first_input(memory)
        cells = cells if first_input is None else self._read_first_input(first_input, cells)
        return self.reader.begin(memory), RnnState(cells=cells, context=context, position=position)

    def step(
        self, tokens: Int[Tensor, " n"], state: RnnState, reading: ReaderMemory
    ) -> tuple[Float[Tensor, "n v"], RnnState]:
        """Return the logits [n v] of the next token after one more token, and the state after it.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            reading: what `begin` returned, one row a source.
        """
        embedded = self.dropout(self.embed(tokens))
        projected = self.cells[0].project(embedded)
        hidden, context, state = self._advance(projected, self._context_weights(), state, reading, len(self.cells))
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), context.unsqueeze(1))
        return self.output(self.output_dropout(features[:, 0])), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Return what the output layer sees after each token (teacher forcing), all steps at once if possible.

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        run = self._run_sequentially if self.reader.sequential else self._run_parallel
        hidden, context = run(embedded, state, reading)
        return self.output_dropout(self.reader.features(hidden, embedded, context))

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        return self.output(self.features(tokens, memory))

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that an encoder may share, layer by layer."""
        return [[cell] for cell in self.cells]

    def _read_first_input(self, first_input: Float[Tensor, "b e"], cells: LayerStates) -> LayerStates:
        """Return the states after a vector that comes before all tokens, with a context of zeros."""
        below, after = self.dropout(first_input), []
        context = first_input.new_zeros(len(first_input), self.reader.input_context_size)
        for number, cell in enumerate(self.cells):
            after.append(cell.advance(cell.project(self._layer_input(number, below, context)), cells[number]))
            below = self._layer_output(number, below, after[-1][0])
        return tuple(after)

    def _context_weights(self) -> Float[Tensor, "g f"] | None:
        """Return the weights of the first cell for the context beside its input."""
        return self.cells[0].columns(self.reader.input_context_size) if self.reader.input_context_size else None

    def _advance(
        self,
        projected: Float[Tensor, "n g"],
        context_weights: Float[Tensor, "g f"] | None,
        state: RnnState,
        reading: ReaderMemory,
        layers: int,
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n _"], RnnState]:
        """Take one step of the lowest layers and the reader: return hidden state, context, and the state after it."""
        query = state.cells[0 if self.reader.bottom_layer else -1][0].unsqueeze(1)
        positions = state.position.unsqueeze(1)
        before = self.reader.read_before(query, state.context.unsqueeze(1), positions, reading)
        if context_weights is not None:
            projected = projected + F.linear(before[:, 0], context_weights)
        cells = [self.cells[0].advance(projected, state.cells[0])]
        hidden = cells[0][0]
        for number in range(1, layers):
            inputs = self.cells[number].project(self._layer_input(number, hidden, before[:, 0]))
            cells.append(self.cells[number].advance(inputs, state.cells[number]))
            hidden = self._layer_output(number, hidden, cells[-1][0])
        context = self.reader.read_after(hidden.unsqueeze(1), before, positions, reading)[:, 0]
        return hidden, context, RnnState((*cells, *state.cells[layers:]), context, position=state.position + 1)

    def _run_sequentially(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: ReaderMemory
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Go step by step; what does not depend on the step before is computed for all steps first, or afterwards."""
        steps, weights, after, reading = [], self._context_weights(), state, reading.share_gradients()
        for projected in self.cells[0].project(embedded).unbind(dim=1):
            hidden, context, after = self._advance(projected, weights, after, reading, self.sequential_layers)
            steps.append((hidden, context))
        hiddens, contexts = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return self._run_layers(hiddens, contexts, state, first=self.sequential_layers), contexts

    def _run_parallel(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: ReaderMemory
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Take all steps at once: no context enters a cell of a later step."""
        length = embedded.shape[1]
        positions = state.position.unsqueeze(1) + torch.arange(length, device=embedded.device)
        context = state.context.unsqueeze(1).expand(-1, length, -1)
        before = self.reader.read_before(embedded, context, positions, reading)
        hidden = self._run_layers(embedded, before, state, first=0)
        return hidden, self.reader.read_after(hidden, before, positions, reading)

    def _run_layers(
        self, hidden: Float[Tensor, "b t _"], context: Float[Tensor, "b t _"], state: RnnState, *, first: int
    ) -> Float[Tensor, "b t _"]:
        """Run the layers from `first` on, each over all steps at once."""
        for number in range(first, len(self.cells)):
            above, _ = self.cells[number].run(self._layer_input(number, hidden, context), state.cells[number])
            hidden = self._layer_output(number, hidden, above)
        return hidden

    def _layer_input(
        self, number: int, below: Float[Tensor, "*n _"], context: Float[Tensor, "*n _"]
    ) -> Float[Tensor, "*n _"]:
        """Return the input of a layer: the output below it, and the context if it enters this layer."""
        below = self.dropout(below) if number else below
        takes_context = self.reader.input_context_size and (number == 0 or self.reader.bottom_layer)
        return torch.cat([below, context], dim=-1) if takes_context else below

    def _layer_output(
        self, number: int, below: Float[Tensor, "*n _"], above: Float[Tensor, "*n d"]
    ) -> Float[Tensor, "*n d"]:
        """Return the output of a layer, with its input added if it has a residual connection."""
        return below + above if self.residual_from and number + 1 >= self.residual_from else above
