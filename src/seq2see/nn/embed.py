"""Embeddings: a vector for each token."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embed(nn.Module):
    """Looks up a vector for each token; vectors have unit variance at the start of training.

    A table that is also the output layer must hold small numbers, else the first logits are too large. It is stored
    divided by sqrt(size) and multiplied by it when it is read (Vaswani et al. 2017, arXiv:1706.03762, section 3.4).

    Args:
        vocabulary: number of tokens v.
        size: channels d of a vector.
        scaled: store the table divided by sqrt(size), for a table that is also the output layer.
    """

    def __init__(self, vocabulary: int, size: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.scale = 1.0
        self.weight = nn.Parameter(torch.randn(vocabulary, size))
        if scaled:
            self.scale_down()

    def forward(self, tokens: Int[Tensor, "*n"]) -> Float[Tensor, "*n d"]:
        """Return the vectors of the tokens, [*n d].

        Args:
            tokens: ids from 0 to v - 1, [*n].
        """
        embedded = F.embedding(tokens, self.weight)
        return embedded * self.scale if self.scale != 1.0 else embedded

    def scale_down(self) -> None:
        """Store the table divided by sqrt(size) from now on; the vectors that are read stay the same."""
        if self.scale == 1.0:
            self.scale = math.sqrt(self.weight.shape[1])
            self.weight.data /= self.scale
