"""Embeddings: a vector for each token."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embed(nn.Module):
    """A table of vectors that come out with unit variance at the start, however it is stored.

    A table that also serves as output layer must be small to start with sane logits; it is stored `scaled` down by
    sqrt(size) and multiplied by it when it is read (Vaswani et al. 2017, section 3.4).
    """

    def __init__(self, vocabulary: int, size: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.scale = 1.0
        self.weight = nn.Parameter(torch.randn(vocabulary, size))
        if scaled:
            self.shrink()

    def forward(self, tokens: Int[Tensor, "*n"]) -> Float[Tensor, "*n d"]:
        embedded = F.embedding(tokens, self.weight)
        return embedded * self.scale if self.scale != 1.0 else embedded

    def shrink(self) -> None:
        """Store the table scaled down from now on; what is read stays the same."""
        if self.scale == 1.0:
            self.scale = math.sqrt(self.weight.shape[1])
            self.weight.data /= self.scale
