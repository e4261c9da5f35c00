"""The Neural Turing Machine as encoder: a controller that writes the source into a memory of rows."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.nn.cell import Cell, CellState
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.ntm_head import CircularRows, NtmHead, arrange_circularly

LSTM = Part[Cell]("cell", "lstm")
INITIAL_ROW_VALUE = 0.1


@dataclass(frozen=True)
class NtmEncoderState:
    """Holds the state of the encoder: its controller, its memory, and what its heads did in the last step.

    Args:
        cell: the state of the controller, [b d] each.
        memory: the rows of the memory, [b s w].
        keys: the same rows as keys for addressing by content, [b 1 s w].
        write_weights: the weights of the head that writes, [b 1 s].
        read_weights: the weights of the heads that read, [b h s].
        read_vectors: the vectors that these heads read, side by side, [b r] with r = h w.
    """

    cell: CellState
    memory: Float[Tensor, "b s w"]
    keys: Float[Tensor, "b 1 s w"]
    write_weights: Float[Tensor, "b 1 s"]
    read_weights: Float[Tensor, "b h s"]
    read_vectors: Float[Tensor, "b r"]


class NtmEncoder(nn.Module):
    """Reads a source with a controller that has one head to write into its memory and others to read from it.

    Graves, Wayne & Danihelka 2014 (arXiv:1410.5401), section 3. The memory has a fixed number of rows, whatever the
    length of the source.

    Args:
        vocabulary: number of source tokens v.
        cell: the controller.
        embedding_size: channels e of the source embeddings.
        size: channels d of the controller's state.
        rows: rows s of the memory.
        width: channels w of a row.
        heads: number of heads that read.
        dropout: the dropout rate of the embeddings.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part[Cell] = LSTM,
        embedding_size: Count = 16,
        size: Count = 64,
        rows: Count = 128,
        width: Count = 24,
        heads: Count = 1,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = width
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        self.cell: Cell = cell(input_size=embedding_size + heads * width, size=size)
        self.read_head = NtmHead(size=size, width=width, heads=heads)
        self.write_head = NtmHead(size=size, width=width)
        self.erase_add = nn.Linear(size, 2 * width)  # the erase vector e and the add vector a
        self.initial_row = nn.Parameter(torch.full((width,), INITIAL_ROW_VALUE))  # every row at first
        self.rows = rows

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; a masked position changes nothing.

        The states of the memory are the rows of the machine, whatever the number of tokens; all of them are real.

        Args:
            tokens: ids of the sources, the end mark included, [b s].
            mask: True at tokens, False at padding.
        """
        projected = self.cell.project(self.dropout(self.embed(tokens)))
        read_columns = self.cell.columns(self.read_head.heads * self.read_head.width)
        row_mask = mask.new_ones(len(tokens), self.rows)
        rows, state = arrange_circularly(row_mask), self._begin(row_mask)
        without_padding = mask.all(dim=0).tolist()
        for position, step in enumerate(projected.unbind(dim=1)):
            after = self._advance(step, read_columns, state, rows)
            state = after if without_padding[position] else _choose_rows(after, state, mask[:, position])
        return Memory(
            states=state.memory,
            mask=row_mask,
            summary=state.read_vectors[:, : self.memory_size],
            final_states=(state.cell,),
            head_weights=state.read_weights,
        )

    def _begin(self, row_mask: Bool[Tensor, "b s"]) -> NtmEncoderState:
        memory = self.initial_row.expand(*row_mask.shape, -1)
        read_weights = self.read_head.begin(row_mask)
        read_vectors = self.read_head.read(read_weights, memory)
        return NtmEncoderState(
            cell=self.cell.zeros(read_vectors),
            memory=memory,
            keys=self.read_head.prepare(memory),
            write_weights=self.write_head.begin(row_mask),
            read_weights=read_weights,
            read_vectors=read_vectors,
        )

    def _advance(
        self,
        projected: Float[Tensor, "b g"],
        read_columns: Float[Tensor, "g r"],
        state: NtmEncoderState,
        rows: CircularRows,
    ) -> NtmEncoderState:
        """Take one step: the controller, then the head that writes (eq. 3-4), then those that read (eq. 2)."""
        cell = self.cell.advance(projected + F.linear(state.read_vectors, read_columns), state.cell)
        write_weights: Tensor = self.write_head(cell[0], state.keys, rows, state.write_weights)
        erase, add = self.erase_add(cell[0]).unsqueeze(1).chunk(2, dim=-1)
        # M (1 - w e) + w a
        memory = state.memory + write_weights.transpose(1, 2) * (add.tanh() - erase.sigmoid() * state.memory)
        keys = self.read_head.prepare(memory)
        read_weights: Tensor = self.read_head(cell[0], keys, rows, state.read_weights)
        read_vectors = self.read_head.read(read_weights, memory)
        return NtmEncoderState(cell, memory, keys, write_weights, read_weights, read_vectors)


def _choose_rows(after: NtmEncoderState, before: NtmEncoderState, real: Bool[Tensor, " b"]) -> NtmEncoderState:
    """Return the state after a step for sources with a real token there, and the state before it for the others."""

    def choose(new: Tensor, old: Tensor) -> Tensor:
        return torch.where(real.view(-1, *[1] * (new.ndim - 1)), new, old)

    return NtmEncoderState(
        cell=tuple(choose(new, old) for new, old in zip(after.cell, before.cell, strict=True)),
        memory=choose(after.memory, before.memory),
        keys=choose(after.keys, before.keys),
        write_weights=choose(after.write_weights, before.write_weights),
        read_weights=choose(after.read_weights, before.read_weights),
        read_vectors=choose(after.read_vectors, before.read_vectors),
    )
