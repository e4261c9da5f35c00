"""Where a recurrent decoder starts: its state before the first step, from the memory."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory, mean
from seq2see.nn.cell import CellState

LayerStates = tuple[CellState, ...]


class Start(nn.Module):
    """Base of the starts: one cell state a layer."""

    def __init__(self, *, size: int, layers: int, parts: int) -> None:
        super().__init__()
        self.size, self.layers, self.parts = size, layers, parts

    def forward(self, memory: Memory) -> LayerStates:
        """The states before the first step."""
        raise NotImplementedError

    def show(self, memory: Memory) -> Float[Tensor, "b e"] | None:
        """What the cells take in before the first token, in the place of an embedding, if anything."""
        return None

    def fill(self, hidden: Float[Tensor, "b l d"]) -> LayerStates:
        """Cell states with the given hidden parts, whose other parts are zero."""
        zeros = (torch.zeros_like(hidden[:, 0]),) * (self.parts - 1)
        return tuple((hidden[:, layer], *zeros) for layer in range(self.layers))


class Zeros(Start):
    """Knows nothing of the source; for readers that attend at every step."""

    def forward(self, memory: Memory) -> LayerStates:
        return self.fill(memory.states.new_zeros(memory.states.shape[0], self.layers, self.size))


class Carry(Start):
    """Sutskever et al. 2014: the encoder's final states, layer by layer, as they are."""

    def forward(self, memory: Memory) -> LayerStates:
        got = [tuple(part.shape[1] for part in state) for state in memory.carry or ()]
        if got != [(self.size,) * self.parts] * self.layers:
            raise ConfigError(
                f"start carry hands the encoder's final states over as they are, so encoder and decoder must have the "
                f"same cell, layers and size (of both ways together); got {got} for {self.layers} layers of "
                f"{self.size}; use start: summary or zeros."
            )
        assert memory.carry is not None
        return memory.carry


class Summary(Start):
    """Cho et al. 2014 and Bahdanau et al. 2015, appendix A.2.2: tanh(W summary)."""

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, layers * size)

    def forward(self, memory: Memory) -> LayerStates:
        if memory.summary is None:
            raise ConfigError("start summary needs an encoder with a summary; use start: mean.")
        return self.fill(self.project(memory.summary).tanh().unflatten(1, (self.layers, self.size)))


class Mean(Start):
    """Xu et al. 2015, section 3.1.2: every part of a state, an LSTM's memory too, is tanh(W mean of the states)."""

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, layers * parts * size)

    def forward(self, memory: Memory) -> LayerStates:
        projected = (
            self.project(mean(memory.states, memory.mask)).tanh().unflatten(1, (self.layers, self.parts, self.size))
        )
        return tuple(tuple(state.unbind(dim=1)) for state in projected.unbind(dim=1))


class Input(Zeros):
    """Vinyals et al. 2015 (Show and Tell), eq. 10: the cells, all zero, read the summary as if it were a first word."""

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int, embedding_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, embedding_size)

    def show(self, memory: Memory) -> Float[Tensor, "b e"] | None:
        if memory.summary is None:
            raise ConfigError("start input needs an encoder with a summary; use start: mean.")
        return self.project(memory.summary)
