"""Normalisers: from scores to weights that sum to one over what may be attended to."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


class Normaliser(nn.Module):
    """Base of all normalisers; a masked position weighs exactly 0, and a row with no position left gives zeros."""

    fused = False  # whether a fused softmax kernel computes the same

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        """Weights for the scores; the query is there for normalisers that move with it."""
        raise NotImplementedError


class Softmax(Normaliser):
    """exp(score) over the sum of exp(score) of all allowed positions."""

    fused = True

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        # the lowest finite number instead of -inf: a row without any allowed position stays free of NaN
        banned = ~mask
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(banned, lowest).softmax(dim=-1).masked_fill(banned, 0.0)
