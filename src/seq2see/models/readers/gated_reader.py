"""The reader of Show, Attend and Tell: a gate weighs the context at every step."""

from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.models.readers.attention_readers import SOFTMAX, AttentionReader
from seq2see.models.readers.reader import ReaderMemory
from seq2see.nn.dropout import Dropout
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score
from seq2see.nn.window import Window

COORDINATES = 2  # numbers that say where a state of the memory is
OPEN_GATE_BIAS = 2.0  # the gate starts open: with a half-closed one a decoder first learns to ignore the context


def compute_coordinates(memory: Memory) -> Float[Tensor, "b s 2"]:
    """Return where each state is, from -1 to 1: row and column in an image, (0, position) in a text.

    Args:
        memory: what the encoder returned; its states are cells of an image if it has a grid.
    """
    sources, states = memory.mask.shape
    if memory.grid is not None:
        device = memory.mask.device
        alone = torch.zeros(1, device=device)
        axes = [torch.linspace(-1, 1, side, device=device) if side > 1 else alone for side in memory.grid]
        return torch.cartesian_prod(*axes).expand(sources, -1, -1)
    shares = torch.arange(states, device=memory.mask.device) / (memory.mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)
    return torch.stack([torch.zeros_like(shares), 2 * shares - 1], dim=2)


class GatedReader(AttentionReader):
    """Attends with the state before the step, and multiplies the context by a gate: z = beta sum_i alpha_i a_i.

    Xu et al. 2015 (arXiv:1502.03044), sections 3.1.2 and 4.2.1, with beta = sigmoid(f(h_{t-1})). z enters the cell, and
    the output layer sees tanh(L_y E y_{t-1} + L_h h_t + L_z z), as wide as an embedding (eq. 7). The tanh is that of
    the authors' code; L_y is there because embeddings are far larger than states at first and would saturate the tanh.

    Args:
        size: channels d of the hidden state.
        memory_size: channels m of the memory's states a_i.
        embedding_size: channels of the target embeddings.
        score: the score function; the paper has additive.
        normalise: the normaliser; `hard` is the paper's stochastic attention.
        window: the window of local attention, if any.
        attends: `before` the step, as in the paper, with a state that does not know the last word yet; or `after` it
            with h_t, for the output layer alone (Lu et al. 2017, arXiv:1612.01887, section 2.2). Then the next step
            takes in the coordinates of the attention instead of the context, so that every word has to attend to the
            thing it names.
        dropout: the dropout rate before the output layer.
    """

    sequential = True

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        embedding_size: int,
        score: Part[Score],
        normalise: Part[Normaliser] = SOFTMAX,
        window: Part[Window] | None = None,
        attends: Literal["before", "after"] = "before",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.attends_after = attends == "after"
        self.input_context_size = COORDINATES if self.attends_after else memory_size
        self.context_size = memory_size + COORDINATES if self.attends_after else memory_size
        self.features_size = embedding_size
        self.gate = nn.Linear(size, 1)
        nn.init.constant_(self.gate.bias, OPEN_GATE_BIAS)
        # L_h, L_y and L_z side by side
        self.deep_output = nn.Linear(size + embedding_size + memory_size, embedding_size)
        self.dropout = Dropout(dropout)

    def begin(self, memory: Memory) -> ReaderMemory:
        begun = super().begin(memory)
        if not self.attends_after:
            return begun
        assert begun.values is not None
        # coordinates are values too, so that the context ends with their mean under the weights
        coordinates = compute_coordinates(memory).unsqueeze(1).to(begun.values.dtype)
        return replace(begun, values=torch.cat([begun.values, coordinates], dim=-1))

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        return context[..., -COORDINATES:] if self.attends_after else self._gated_context(hidden, positions, memory)

    def read_after(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        return self._gated_context(hidden, positions, memory) if self.attends_after else context

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], context: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        contents = context[..., :-COORDINATES] if self.attends_after else context
        output: Tensor = self.deep_output(torch.cat([hidden, embedded, contents], dim=-1))
        return self.dropout(output.tanh())

    def _gated_context(
        self, hidden: Float[Tensor, "n t d"], positions: Int[Tensor, "n t"], memory: ReaderMemory
    ) -> Float[Tensor, "n t m"]:
        """Return beta sum_i alpha_i a_i with the query and the gate of one state."""
        return self.gate(hidden).sigmoid() * self.attend_with(hidden, positions, memory)
