"""Pools: a whole memory read into one vector for each source."""

import math
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory, mean
from seq2see.core.registry import Part
from seq2see.nn.attend import Attend

ADDITIVE, SOFTMAX = Part("score", "additive"), Part("normalise", "softmax")


class Pool(nn.Module):
    """Base of the pools; `size` is the width of what they read and of what they give.

    A source without any position gives zeros.
    """

    reads: ClassVar[Literal["weighed", "alike", "summary", "parts"]] = "parts"  # what it makes of all positions

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        """One vector for each source."""
        raise NotImplementedError


class Attention(Pool):
    """Yang et al. 2016, eq. 5-7 with the additive score: a = softmax(v . tanh(W h + b)), sum of a h.

    One learned query reads the memory; what W makes of it is part of b.
    """

    reads = "weighed"

    def __init__(self, *, size: int, score: Part = ADDITIVE, normalise: Part = SOFTMAX) -> None:
        super().__init__(size=size)
        self.query = nn.Parameter(torch.randn(size) / math.sqrt(size))
        self.attend = Attend(score=score(query_size=size, key_size=size), normalise=normalise())

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        query = self.query.expand(len(memory.states), 1, 1, -1)
        keys = self.attend.prepare(memory.states.unsqueeze(1))
        context: Tensor = self.attend(query, keys, memory.contents.unsqueeze(1), memory.mask[:, None, None, :])
        return context[:, 0, 0]


class Mean(Pool):
    """The mean of all positions."""

    reads = "alike"

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        return mean(memory.contents, memory.mask)


class Max(Pool):
    """The largest number of each channel over all positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        real = memory.mask.unsqueeze(2)
        lowest = torch.finfo(memory.contents.dtype).min
        return memory.contents.masked_fill(~real, lowest).amax(dim=1) * real.any(dim=1)


class Summary(Pool):
    """The encoder's own summary: the final state of a recurrent one, the class token of one that has it."""

    reads = "summary"

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        if memory.summary is None:
            raise ConfigError("this encoder leaves no summary; choose attention, mean or max as model.pool.")
        return memory.summary * memory.mask.any(dim=1, keepdim=True)
