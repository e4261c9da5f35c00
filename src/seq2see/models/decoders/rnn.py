"""The recurrent decoder: cells, a reader of the memory, an output layer."""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from annotated_types import Ge
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.readers import Reader, Reading
from seq2see.models.starts import LayerStates, Start
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed


@dataclass(frozen=True)
class RnnState:
    """Where a recurrent decoder stands: a cell state for each layer, what the reader left, and the step's number."""

    cells: LayerStates
    fed: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]


class RnnDecoder(nn.Module):
    """Writes a target token by token; Sutskever, Cho, Bahdanau, Luong, Wu, Vinyals and Xu are its readers and starts.

    residual_from: from this layer on, what stands below a layer is added to its output (Wu et al. 2016, eq. 6).
    output_dropout: of what the output layer sees alone.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        cell: Part,
        reader: Part,
        start: Part,
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
        above = size + self.reader.feeds if self.reader.bottom else size
        widths = [embedding_size + self.reader.feeds] + [above] * (layers - 1)
        self.looped = 1 if self.reader.bottom else layers  # layers that have to be walked if the reader loops
        self.cells: Any = nn.ModuleList(cell(input_size=width, size=size) for width in widths)
        self.start: Start = start(parts=self.cells[0].parts, **sizes)
        self.output = nn.Linear(self.reader.features_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[Reading, RnnState]:
        """What is constant for each source, and the state before the first step."""
        sources = memory.states.shape[0]
        fed = memory.states.new_zeros(sources, self.reader.fed_size)
        position = torch.zeros(sources, dtype=torch.long)
        cells, shown = self.start(memory), self.start.show(memory)
        cells = cells if shown is None else self._take_in(shown, cells)
        return self.reader.begin(memory), RnnState(cells=cells, fed=fed, position=position)

    def step(
        self, tokens: Int[Tensor, " n"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "n v"], RnnState]:
        """Logits of the next token after one more token."""
        embedded = self.dropout(self.embed(tokens))
        projected = self.cells[0].project(embedded)
        hidden, beside, state = self._advance(projected, self._columns(), state, reading, len(self.cells))
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), beside.unsqueeze(1))
        return self.output(self.output_dropout(features[:, 0])), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Teacher forcing: what the output layer sees after each token; all steps at once if the reader permits it."""
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        walk = self._walk if self.reader.loops else self._run
        hidden, fed = walk(embedded, state, reading)
        return self.output_dropout(self.reader.features(hidden, embedded, fed))

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def own_layers(self) -> list[list[nn.Module]]:
        """What an encoder may share, layer by layer."""
        return [[cell] for cell in self.cells]

    def _take_in(self, shown: Float[Tensor, "b e"], cells: LayerStates) -> LayerStates:
        """The states after a vector that comes before all tokens; nothing is read beside it."""
        below, beside, after = self.dropout(shown), shown.new_zeros(len(shown), self.reader.feeds), []
        for number, cell in enumerate(self.cells):
            after.append(cell.advance(cell.project(self._enter(number, below, beside)), cells[number]))
            below = self._leave(number, below, after[-1][0])
        return tuple(after)

    def _columns(self) -> Float[Tensor, "g f"] | None:
        """The weights of the first cell for what the reader puts beside its input."""
        return self.cells[0].columns(self.reader.feeds) if self.reader.feeds else None

    def _advance(
        self,
        projected: Float[Tensor, "n g"],
        columns: Float[Tensor, "g f"] | None,
        state: RnnState,
        reading: Reading,
        layers: int,
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n _"], RnnState]:
        """One step of the lowest layers and the reader: hidden state, what the reader left, and the state after it."""
        looking = state.cells[0 if self.reader.bottom else -1][0].unsqueeze(1)
        positions = state.position.unsqueeze(1)
        beside = self.reader.before(looking, state.fed.unsqueeze(1), positions, reading)
        if columns is not None:
            projected = projected + F.linear(beside[:, 0], columns)
        cells = [self.cells[0].advance(projected, state.cells[0])]
        hidden = cells[0][0]
        for number in range(1, layers):
            inputs = self.cells[number].project(self._enter(number, hidden, beside[:, 0]))
            cells.append(self.cells[number].advance(inputs, state.cells[number]))
            hidden = self._leave(number, hidden, cells[-1][0])
        fed = self.reader.after(hidden.unsqueeze(1), beside, positions, reading)[:, 0]
        return hidden, fed, RnnState((*cells, *state.cells[layers:]), fed, position=state.position + 1)

    def _walk(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Step by step; what does not depend on the step before is computed for all steps first, or afterwards."""
        steps, columns, after, reading = [], self._columns(), state, reading.keep_tally()
        for projected in self.cells[0].project(embedded).unbind(dim=1):
            hidden, fed, after = self._advance(projected, columns, after, reading, self.looped)
            steps.append((hidden, fed))
        hiddens, feds = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return self._rise(hiddens, feds, state, first=self.looped), feds

    def _run(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """All steps at once: nothing that is read goes back into the cells."""
        length = embedded.shape[1]
        positions = state.position.unsqueeze(1) + torch.arange(length)
        beside = self.reader.before(embedded, state.fed.unsqueeze(1).expand(-1, length, -1), positions, reading)
        hidden = self._rise(embedded, beside, state, first=0)
        return hidden, self.reader.after(hidden, beside, positions, reading)

    def _rise(
        self, hidden: Float[Tensor, "b t _"], beside: Float[Tensor, "b t _"], state: RnnState, *, first: int
    ) -> Float[Tensor, "b t _"]:
        """Run the layers from `first` on, each over all steps at once."""
        for number in range(first, len(self.cells)):
            above, _ = self.cells[number].run(self._enter(number, hidden, beside), state.cells[number])
            hidden = self._leave(number, hidden, above)
        return hidden

    def _enter(self, number: int, below: Float[Tensor, "*n _"], beside: Float[Tensor, "*n _"]) -> Float[Tensor, "*n _"]:
        """The input of a layer: what stands below it, and beside that what was read, if it enters this layer."""
        below = self.dropout(below) if number else below
        reads = self.reader.feeds and (number == 0 or self.reader.bottom)
        return torch.cat([below, beside], dim=-1) if reads else below

    def _leave(self, number: int, below: Float[Tensor, "*n _"], above: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The output of a layer, with what stands below it if there is a residual connection."""
        return below + above if self.residual_from and number + 1 >= self.residual_from else above
