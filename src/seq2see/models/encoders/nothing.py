"""The encoder that reads nothing: whatever decoder follows it is a language model of its targets."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.shapes import Count


class Nothing(nn.Module):
    """One state of zeros for every source; attending to it gives the same for every query, and tells nothing.

    memory_size: as wide as the memory that the decoder is going to read later.
    """

    zero: Tensor

    def __init__(self, *, memory_size: Count = 128) -> None:
        super().__init__()
        self.memory_size = memory_size
        self.register_buffer("zero", torch.zeros(memory_size), persistent=False)

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """The same memory, whatever the tokens are."""
        summary = self.zero.expand(tokens.shape[0], -1)
        return Memory(states=summary.unsqueeze(1), mask=torch.ones_like(mask[:, :1]), summary=summary)
