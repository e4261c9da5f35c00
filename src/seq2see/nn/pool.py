"""Pooling by attention: one learned query reads a whole sequence into one vector."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.registry import Part
from seq2see.nn.attend import Attend


class Pool(nn.Module):
    """Yang et al. 2016, eq. 5-7 with the additive score: a = softmax(v . tanh(W h + b)), sum of a h."""

    def __init__(self, *, size: int, score: Part, normalise: Part) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(size) / math.sqrt(size))
        self.attend = Attend(score=score(query_size=size, key_size=size), normalise=normalise())

    def forward(self, states: Float[Tensor, "b s d"], mask: Bool[Tensor, "b s"]) -> Float[Tensor, "b d"]:
        """One vector for each row; a row without any position gives zeros."""
        keys = states.unsqueeze(1)
        query = self.query.expand(states.shape[0], 1, 1, -1)
        context: Tensor = self.attend(query, self.attend.prepare(keys), keys, mask[:, None, None, :])
        return context[:, 0, 0]
