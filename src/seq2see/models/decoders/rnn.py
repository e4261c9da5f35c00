"""The recurrent decoder: cells, a reader of the memory, an output layer."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.readers import Reader, Reading
from seq2see.models.starts import LayerStates
from seq2see.nn.dropout import Dropout


@dataclass(frozen=True)
class RnnState:
    """Where a recurrent decoder stands: a cell state for each layer, what the reader left, and the step's number."""

    cells: LayerStates
    fed: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]


class RnnDecoder(nn.Module):
    """Writes a target token by token; Sutskever, Cho, Bahdanau and Luong are its readers and starts."""

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
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        sizes = {"size": size, "memory_size": memory_size, "embedding_size": embedding_size, "layers": layers}
        self.reader: Reader = reader(dropout=dropout, **sizes)
        widths = [embedding_size + self.reader.feeds] + [size] * (layers - 1)
        self.cells: Any = nn.ModuleList(cell(input_size=width, size=size) for width in widths)
        self.start = start(parts=self.cells[0].parts, **sizes)
        self.output = nn.Linear(self.reader.features_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[Reading, RnnState]:
        """What is constant for each source, and the state before the first step."""
        sources = memory.states.shape[0]
        fed = memory.states.new_zeros(sources, self.reader.fed_size)
        position = torch.zeros(sources, dtype=torch.long)
        return self.reader.begin(memory), RnnState(cells=self.start(memory), fed=fed, position=position)

    def step(
        self, tokens: Int[Tensor, " n"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "n v"], RnnState]:
        """Logits of the next token after one more token."""
        embedded = self.dropout(self.embed(tokens))
        projected = self.cells[0].project(embedded)
        hidden, beside, state = self._advance(projected, self._columns(), state, reading)
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), beside.unsqueeze(1))
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Teacher forcing: what the output layer sees after each token; all steps at once if the reader permits it."""
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        walk = self._walk if self.reader.loops else self._run
        hidden, fed = walk(embedded, state, reading)
        return self.reader.features(hidden, embedded, fed)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def _columns(self) -> Float[Tensor, "g f"] | None:
        """The weights of the first cell for what the reader puts beside its input."""
        return self.cells[0].columns(self.reader.feeds) if self.reader.feeds else None

    def _advance(
        self, projected: Float[Tensor, "n g"], columns: Float[Tensor, "g f"] | None, state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n _"], RnnState]:
        """One step of cells and reader: the top hidden state, what the reader left, and the state after it."""
        top, positions = state.cells[-1][0].unsqueeze(1), state.position.unsqueeze(1)
        beside = self.reader.before(top, state.fed.unsqueeze(1), positions, reading)
        if columns is not None:
            projected = projected + F.linear(beside[:, 0], columns)
        cells = [self.cells[0].advance(projected, state.cells[0])]
        for cell, below in zip(self.cells[1:], state.cells[1:], strict=True):
            cells.append(cell.advance(cell.project(self.dropout(cells[-1][0])), below))
        hidden = cells[-1][0]
        fed = self.reader.after(hidden.unsqueeze(1), beside, positions, reading)[:, 0]
        return hidden, fed, RnnState(cells=tuple(cells), fed=fed, position=state.position + 1)

    def _walk(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Step by step; what does not depend on the step before is computed for all steps first."""
        steps, columns = [], self._columns()
        for projected in self.cells[0].project(embedded).unbind(dim=1):
            hidden, fed, state = self._advance(projected, columns, state, reading)
            steps.append((hidden, fed))
        hiddens, feds = zip(*steps, strict=True)
        return torch.stack(hiddens, dim=1), torch.stack(feds, dim=1)

    def _run(
        self, embedded: Float[Tensor, "b t e"], state: RnnState, reading: Reading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """All steps at once: nothing that is read goes back into the cells."""
        length = embedded.shape[1]
        positions = state.position.unsqueeze(1) + torch.arange(length)
        beside = self.reader.before(embedded, state.fed.unsqueeze(1).expand(-1, length, -1), positions, reading)
        hidden = torch.cat([embedded, beside], dim=-1) if self.reader.feeds else embedded
        for number, (cell, start) in enumerate(zip(self.cells, state.cells, strict=True)):
            hidden, _ = cell.run(self.dropout(hidden) if number else hidden, start)
        return hidden, self.reader.after(hidden, beside, positions, reading)
