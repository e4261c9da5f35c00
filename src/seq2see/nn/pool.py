"""Pools: what turns the memory of a source into one vector, for a classifier."""

import math
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory, mean
from seq2see.core.registry import Part
from seq2see.nn.attend import Attend
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score

ADDITIVE, SOFTMAX = Part[Score]("score", "additive"), Part[Normaliser]("normalise", "softmax")


class Pool(nn.Module):
    """Base of the pools; a source without any position gives zeros.

    Args:
        size: channels d of the memory's states and of the result.
    """

    reads: ClassVar[Literal["weighed", "alike", "summary", "parts"]] = "parts"  # how it combines positions

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        """Return one vector for each source, [b d].

        Args:
            memory: what an encoder returned; a masked position changes nothing.
        """
        raise NotImplementedError


class AttentionPool(Pool):
    """Sums the states under attention weights: a = softmax(v . tanh(U h_i + b)), vector = sum_i a_i h_i.

    Yang et al. 2016 (doi:10.18653/v1/N16-1174), eq. 5-7, by attention with one learned query, whose projection is part
    of b.

    Args:
        size: channels d of the memory's states and of the result.
        score: the score function between the learned query and the states.
        normalise: what turns the scores into weights.
    """

    reads = "weighed"

    def __init__(self, *, size: int, score: Part[Score] = ADDITIVE, normalise: Part[Normaliser] = SOFTMAX) -> None:
        super().__init__(size=size)
        self.query = nn.Parameter(torch.randn(size) / math.sqrt(size))
        self.attend = Attend(score=score(query_size=size, key_size=size), normalise=normalise())

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        query = self.query.expand(len(memory.states), 1, 1, -1)
        keys = self.attend.prepare(memory.states.unsqueeze(1))
        context: Tensor = self.attend(query, keys, memory.contents.unsqueeze(1), memory.mask[:, None, None, :])
        return context[:, 0, 0]


class MeanPool(Pool):
    """Takes the mean of all positions."""

    reads = "alike"

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        return mean(memory.contents, memory.mask)


class MaxPool(Pool):
    """Takes the largest number of each channel over all positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        real = memory.mask.unsqueeze(2)
        lowest = torch.finfo(memory.contents.dtype).min
        return memory.contents.masked_fill(~real, lowest).amax(dim=1) * real.any(dim=1)


class SummaryPool(Pool):
    """Takes the encoder's own summary: the final state of a recurrent one, or the class token."""

    reads = "summary"

    def forward(self, memory: Memory) -> Float[Tensor, "b d"]:
        if memory.summary is None:
            raise ConfigError(
                "the summary pool needs an encoder with a summary; choose attention, mean or max as model.pool."
            )
        return memory.summary * memory.mask.any(dim=1, keepdim=True)
