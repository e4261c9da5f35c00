"""The encoder that ignores the source: a decoder after it is a language model of the targets."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count


class NoEncoder(nn.Module):
    """Gives every source one state of zeros, so that attention to it returns zeros for every query.

    Args:
        memory_size: channels m of that state; if the decoder is to be fine-tuned behind another encoder, the channels
            of that one's memory.
    """

    zero: Tensor

    def __init__(self, *, memory_size: Count = 128) -> None:
        super().__init__()
        self.memory_size = memory_size
        self.register_buffer("zero", torch.zeros(memory_size), persistent=False)

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Return the same memory for every source.

        Args:
            tokens: ids of the sources, [b s]; only their number b matters.
            mask: a mask of the sources, [b s]; only its shape matters.
        """
        summary = self.zero.expand(tokens.shape[0], -1)
        return Memory(states=summary.unsqueeze(1), mask=torch.ones_like(mask[:, :1]), summary=summary)
