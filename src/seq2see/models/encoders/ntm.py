"""The Neural Turing Machine as encoder: it writes what it reads into a memory of rows."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.nn.cell import CellState
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.head import Head, Ring, close_ring

LSTM = Part("cell", "lstm")


@dataclass(frozen=True)
class Machine:
    """Where a machine stands: its controller, its memory, where its heads are, and what they read."""

    cell: CellState
    memory: Float[Tensor, "b s w"]
    keys: Float[Tensor, "b 1 s w"]
    write: Float[Tensor, "b 1 s"]
    read: Float[Tensor, "b h s"]
    seen: Float[Tensor, "b r"]


class NtmEncoder(nn.Module):
    """Graves, Wayne & Danihelka 2014, section 3: a controller with one head that writes and some that read.

    The memory it leaves has `rows` states of `width` numbers, however long the source; `heads` are those that read.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part = LSTM,
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
        self.cell: Any = cell(input_size=embedding_size + heads * width, size=size)
        self.read = Head(size=size, width=width, heads=heads)
        self.write = Head(size=size, width=width)
        self.change = nn.Linear(size, 2 * width)  # what is erased and what is added
        self.blank = nn.Parameter(torch.full((width,), 0.1))  # every row at first
        self.rows = rows

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; at masked positions the whole machine stands still."""
        projected = self.cell.project(self.dropout(self.embed(tokens)))
        columns = self.cell.columns(self.read.heads * self.read.width)
        there = torch.ones(len(tokens), self.rows, dtype=torch.bool)
        ring, machine = close_ring(there), self._begin(there)
        whole = mask.all(dim=0).tolist()
        for position, entered in enumerate(projected.unbind(dim=1)):
            after = self._advance(entered, columns, machine, ring)
            machine = after if whole[position] else _stop(after, machine, mask[:, position])
        return Memory(
            states=machine.memory,
            mask=there,
            summary=machine.seen[:, : self.memory_size],
            carry=(machine.cell,),
            focus=machine.read,
        )

    def _begin(self, there: Bool[Tensor, "b s"]) -> Machine:
        memory = self.blank.expand(*there.shape, -1)
        read = self.read.begin(there)
        seen = self.read.read(read, memory)
        return Machine(self.cell.zeros(seen), memory, self.read.prepare(memory), self.write.begin(there), read, seen)

    def _advance(
        self, entered: Float[Tensor, "b g"], columns: Float[Tensor, "g r"], machine: Machine, ring: Ring
    ) -> Machine:
        """One step: the controller, then the head that writes (eq. 3-4), then those that read (eq. 2)."""
        cell = self.cell.advance(entered + F.linear(machine.seen, columns), machine.cell)
        write: Tensor = self.write(cell[0], machine.keys, ring, machine.write)
        erase, add = self.change(cell[0]).unsqueeze(1).chunk(2, dim=-1)
        # M (1 - w e) + w a
        memory = machine.memory + write.transpose(1, 2) * (add.tanh() - erase.sigmoid() * machine.memory)
        keys = self.read.prepare(memory)
        read: Tensor = self.read(cell[0], keys, ring, machine.read)
        return Machine(cell, memory, keys, write, read, self.read.read(read, memory))


def _stop(after: Machine, before: Machine, alive: Bool[Tensor, " b"]) -> Machine:
    """The machine after a step for rows that are still alive, as it was for those at their end."""

    def choose(new: Tensor, old: Tensor) -> Tensor:
        return torch.where(alive.view(-1, *[1] * (new.ndim - 1)), new, old)

    parts = ((getattr(after, name), getattr(before, name)) for name in ("memory", "keys", "write", "read", "seen"))
    cell = tuple(choose(new, old) for new, old in zip(after.cell, before.cell, strict=True))
    return Machine(cell, *(choose(new, old) for new, old in parts))
