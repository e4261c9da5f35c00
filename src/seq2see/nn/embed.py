"""Token embeddings with an initial scale that suits recurrent layers."""

from torch import nn


def embedding(vocabulary: int, size: int) -> nn.Embedding:
    """A table of small random vectors, uniform in [-0.1, 0.1] as in Bahdanau's and Luong's models."""
    table = nn.Embedding(vocabulary, size)
    nn.init.uniform_(table.weight, -0.1, 0.1)
    return table
