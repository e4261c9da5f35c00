"""Initial states of a recurrent decoder: its state before the first step, computed from the memory."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory, mean
from seq2see.nn.cell import CellState

LayerStates = tuple[CellState, ...]


class InitialState(nn.Module):
    """Base of the initial states: one cell state a layer.

    Args:
        size: channels d of a cell state.
        layers: number of layers l.
        parts: tensors of a cell state: 2 for an LSTM, 1 for a GRU.
    """

    def __init__(self, *, size: int, layers: int, parts: int) -> None:
        super().__init__()
        self.size, self.layers, self.parts = size, layers, parts

    def forward(self, memory: Memory) -> LayerStates:
        """Return the states before the first step: for each layer the tensors of its cell, [b d] each.

        Args:
            memory: what the encoder returned for b sources.
        """
        raise NotImplementedError

    def first_input(self, memory: Memory) -> Float[Tensor, "b e"] | None:
        """Return a vector that the cells read before the first token as if it were an embedding; None for none.

        Args:
            memory: what the encoder returned for b sources.
        """
        return None

    def fill(self, hidden: Float[Tensor, "b l d"]) -> LayerStates:
        """Return cell states with the given hidden parts; an LSTM's memory is zero.

        Args:
            hidden: the hidden part of every layer, [b l d].
        """
        zeros = (torch.zeros_like(hidden[:, 0]),) * (self.parts - 1)
        return tuple((hidden[:, layer], *zeros) for layer in range(self.layers))


class ZeroState(InitialState):
    """Starts at zero: the decoder knows the source by its reader alone."""

    def forward(self, memory: Memory) -> LayerStates:
        return self.fill(memory.states.new_zeros(memory.states.shape[0], self.layers, self.size))


class CopiedState(InitialState):
    """Copies the encoder's final states, layer by layer (Sutskever et al. 2014, arXiv:1409.3215)."""

    def forward(self, memory: Memory) -> LayerStates:
        got = [tuple(part.shape[1] for part in state) for state in memory.final_states or ()]
        if got != [(self.size,) * self.parts] * self.layers:
            raise ConfigError(
                "initial_state copy takes the encoder's final states as they are, so encoder and decoder must have the "
                f"same cell, layers and size (of both directions together); got {got} for {self.layers} layers of "
                f"{self.size}; use initial_state: projected or zeros."
            )
        assert memory.final_states is not None
        return memory.final_states


class ProjectedState(InitialState):
    """Projects the encoder's summary: h_0 = tanh(W summary), and an LSTM's memory is zero.

    Cho et al. 2014 (arXiv:1406.1078), appendix A.1.2, and Bahdanau et al. 2015 (arXiv:1409.0473), appendix A.2.2.

    Args:
        size: channels d of a cell state.
        layers: number of layers l.
        parts: tensors of a cell state.
        memory_size: channels of the summary.
    """

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, layers * size)

    def forward(self, memory: Memory) -> LayerStates:
        if memory.summary is None:
            raise ConfigError("initial_state projected needs an encoder with a summary; use initial_state: mean.")
        return self.fill(self.project(memory.summary).tanh().unflatten(1, (self.layers, self.size)))


class MeanState(InitialState):
    """Projects the mean of the encoder's states: h_0 = tanh(W_h mean), and an LSTM's memory c_0 = tanh(W_c mean).

    Xu et al. 2015 (arXiv:1502.03044), section 3.1.2.

    Args:
        size: channels d of a cell state.
        layers: number of layers l.
        parts: tensors of a cell state.
        memory_size: channels of the encoder's states.
    """

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, layers * parts * size)

    def forward(self, memory: Memory) -> LayerStates:
        projected = (
            self.project(mean(memory.states, memory.mask)).tanh().unflatten(1, (self.layers, self.parts, self.size))
        )
        return tuple(tuple(state.unbind(dim=1)) for state in projected.unbind(dim=1))


class InputState(ZeroState):
    """Starts at zero, and the cells read W summary as if it were the embedding of a first word.

    Vinyals et al. 2015 (Show and Tell, arXiv:1411.4555), eq. 10.

    Args:
        size: channels d of a cell state.
        layers: number of layers l.
        parts: tensors of a cell state.
        memory_size: channels of the summary.
        embedding_size: channels e of the target embeddings.
    """

    def __init__(self, *, size: int, layers: int, parts: int, memory_size: int, embedding_size: int) -> None:
        super().__init__(size=size, layers=layers, parts=parts)
        self.project = nn.Linear(memory_size, embedding_size)

    def first_input(self, memory: Memory) -> Float[Tensor, "b e"] | None:
        if memory.summary is None:
            raise ConfigError("initial_state input needs an encoder with a summary; use initial_state: mean.")
        return self.project(memory.summary)
