"""The reader of Show, Attend and Tell: a gate says how much of what was seen enters a step."""

from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.models.readers import SOFTMAX, Attending, Reading
from seq2see.nn.dropout import Dropout

PLACE = 2  # numbers that say where a state of the memory stands
OPEN = 2.0  # the gate begins open: half shut, a decoder first learns to write without looking


def locate(memory: Memory) -> Float[Tensor, "b s 2"]:
    """Where each state stands, from -1 to 1: its row and column in a picture, its place in a text."""
    sources, states = memory.mask.shape
    if memory.grid is not None:
        lines = [torch.linspace(-1, 1, side) if side > 1 else torch.zeros(1) for side in memory.grid]
        return torch.cartesian_prod(*lines).expand(sources, -1, -1)
    places = torch.arange(states) / (memory.mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)
    return torch.stack([torch.zeros_like(places), 2 * places - 1], dim=2)


class Gated(Attending):
    """Xu et al. 2015, sections 3.1.2 and 4.2.1: attend with the state before the step, and weigh the context by a gate.

    z = beta sum_i alpha_i a_i with beta = sigmoid(f(h_{t-1})) enters the cell; the output layer sees
    tanh(L_y E y_{t-1} + L_h h_t + L_z z), as wide as an embedding (eq. 7; the tanh is that of the authors' code, L_y
    is there because embeddings are far larger than states at first: as they are they would fill the tanh).

    looks: before a step, as in the paper, with a state that the last word has not entered yet; or after it, with h_t,
    for the output layer alone (Lu et al. 2017, section 2.2), while the next step hears where that look was: then a look
    knows which word it follows, and no later word can live on what it saw, so that each word that names a thing looks
    at it itself.
    """

    loops = True

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        embedding_size: int,
        score: Part,
        normalise: Part = SOFTMAX,
        window: Part | None = None,
        looks: Literal["before", "after"] = "before",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.late = looks == "after"
        self.feeds = PLACE if self.late else memory_size
        self.fed_size = memory_size + PLACE if self.late else memory_size
        self.features_size = embedding_size
        self.gate = nn.Linear(size, 1)
        nn.init.constant_(self.gate.bias, OPEN)
        self.deepen = nn.Linear(size + embedding_size + memory_size, embedding_size)  # L_h, L_y and L_z side by side
        self.dropout = Dropout(dropout)

    def begin(self, memory: Memory) -> Reading:
        reading = super().begin(memory)
        if not self.late:
            return reading
        assert reading.values is not None
        places = locate(memory).unsqueeze(1).to(reading.values.dtype)  # seen like contents, so that z has their mean
        return replace(reading, values=torch.cat([reading.values, places], dim=-1))

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        return fed[..., -PLACE:] if self.late else self._see(hidden, positions, reading)

    def after(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        return self._see(hidden, positions, reading) if self.late else fed

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], fed: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        seen = fed[..., :-PLACE] if self.late else fed
        deep: Tensor = self.deepen(torch.cat([hidden, embedded, seen], dim=-1))
        return self.dropout(deep.tanh())

    def _see(
        self, hidden: Float[Tensor, "n t d"], positions: Int[Tensor, "n t"], reading: Reading
    ) -> Float[Tensor, "n t m"]:
        """beta sum_i alpha_i a_i, by one state."""
        return self.gate(hidden).sigmoid() * self.look(hidden, positions, reading)
