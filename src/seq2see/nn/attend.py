"""Attention: score -> normalise -> aggregate. The only place in the package where weights exist."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.trace import active_trace
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score


class Attend(nn.Module):
    """context = normalise(score(query, keys)) @ values; shown to a trace if one is looking, else fused if possible."""

    def __init__(self, *, score: Score, normalise: Normaliser) -> None:
        super().__init__()
        self.score = score
        self.normalise = normalise

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s _"]:
        """What can be computed once per memory; `forward` takes the result as its keys."""
        return self.score.prepare(keys)

    def forward(
        self,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s _"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"] | None = None,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "b h t d"]:
        """The weighted sum of the values for every query; causal: each sees the keys up to its own place."""
        trace = active_trace()
        scale = self.score.fused_scale(query.shape[-1]) if self.normalise.fused else None
        if trace is None and scale is not None:
            return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal, scale=scale)
        scores: Tensor = self.score(query, keys)
        weights: Tensor = self.normalise(scores, _complete(mask, scores, causal), query)
        if trace is not None:
            trace.record(self, weights, causal=causal)
        return weights @ values


def _complete(
    mask: Bool[Tensor, "*#b #h #t s"] | None, scores: Float[Tensor, "b h t s"], causal: bool
) -> Bool[Tensor, "*#b #h #t s"]:
    """The mask that holds for the scores, also where none was given."""
    queries, keys = scores.shape[2:]
    seen = torch.ones(queries if causal else 1, keys, dtype=torch.bool, device=scores.device)
    seen = seen.tril() if causal else seen
    return seen[None, None] if mask is None else mask & seen
