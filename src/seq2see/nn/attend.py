"""Attention: score -> normalise -> aggregate. The only place in the package where weights exist."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.change import active_changes, overrule, temper
from seq2see.core.errors import ConfigError
from seq2see.core.trace import active_trace
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score
from seq2see.nn.tally import has_tally, mix
from seq2see.nn.window import Window, take

FEW, MANY = 16, 128  # queries of a source, and sources times heads, of a step of decoding


class Attend(nn.Module):
    """context = normalise(score(query, keys)) @ values; shown to a trace if one is looking, else fused if possible.

    With a window, each query scores and sums only the keys around its centre.
    """

    def __init__(self, *, score: Score, normalise: Normaliser, window: Window | None = None) -> None:
        super().__init__()
        if window is not None and not score.content:
            raise ConfigError(
                "a window needs a score that compares contents; got one that scores positions of the whole source "
                "(such as location); choose another score or leave the window out."
            )
        self.score = score
        self.normalise = normalise
        self.window = window

    def prepare(self, keys: Float[Tensor, "b _ s k"]) -> Float[Tensor, "b _ s _"]:
        """What can be computed once per memory; `forward` takes the result as its keys."""
        return self.score.prepare(keys)

    def forward(
        self,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s _"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"] | None = None,
        positions: Int[Tensor, "b t"] | None = None,
        *,
        causal: bool = False,
        past: bool = False,
    ) -> Float[Tensor, "b h t d"]:
        """The weighted sum of the values for every query.

        Causal: each sees the keys up to its own place. Past: all keys come before the queries, and a trace shall know
        it. A window must be told the queries' positions.
        """
        if self.window is not None:
            assert positions is not None
            assert mask is not None
            return self._look_around(self.window, query, keys, values, mask, positions)
        trace, changes = active_trace(), active_changes(self)
        # torch has a fused kernel for keys and values of one width only; else it would scale all keys at every call
        alike = self.normalise.fused and keys.shape[-1] == values.shape[-1] and not has_tally(values)
        scale = self.score.fused_scale(query.shape[-1]) if alike else None
        if trace is None and not changes and scale is not None:
            if not causal and _is_step(query):
                return self._look_once(query * scale, keys, values, mask)
            return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal, scale=scale)
        scores: Tensor = self.score(query, keys)
        allowed = _complete(mask, scores, causal)
        weights = overrule(self.normalise(temper(scores, changes), allowed, query), allowed, changes)
        if trace is not None:
            trace.record(self, weights, causal=causal or past)
        return mix(weights, values)

    def _look_once(
        self,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s q"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"] | None,
    ) -> Float[Tensor, "b h t d"]:
        """The same as the fused kernel, with scores already scaled."""
        scores = query @ keys.transpose(2, 3)
        weights: Tensor = scores.softmax(dim=-1) if mask is None else self.normalise(scores, mask, query)
        return weights @ values

    def _look_around(
        self,
        window: Window,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s _"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"],
        positions: Int[Tensor, "b t"],
    ) -> Float[Tensor, "b h t d"]:
        """The same inside windows; nothing here grows with s unless somebody looks."""
        sources, heads, steps, size = query.shape
        centre = window.centre(query, mask, positions)
        near, allowed = window.cut(centre, mask)
        # a score knows one memory for all queries of a source: here every query has a memory of its own
        alone = query.transpose(1, 2).reshape(-1, heads, 1, size)
        scores = self.score(alone, take(keys, near)).view(sources, steps, heads, -1).transpose(1, 2)
        changes = active_changes(self)
        weights = self.normalise(temper(scores, changes), allowed, query)
        # last of all: weights that somebody asks for stay as they are asked for
        weights = overrule(window.fade(weights, near - centre.unsqueeze(-1)), allowed, changes)
        trace = active_trace()
        if trace is not None:
            trace.record(self, weights.new_zeros(*near.shape[:3], keys.shape[2]).scatter(-1, near, weights))
        rows = weights.transpose(1, 2).reshape(-1, heads, 1, near.shape[3])
        return (rows @ take(values, near)).view(sources, steps, heads, -1).transpose(1, 2)


def _is_step(query: Float[Tensor, "b h t q"]) -> bool:
    """Whether many sources have few queries each, as in decoding: there two products are quicker than the fused kernel.

    It took 0.54 ms for 290 sources, 4 heads and 14 keys on a core, and they 0.30; for one source it is the quicker.
    """
    sources, heads, queries, _ = query.shape
    return queries <= FEW and sources * heads >= MANY and not torch.is_grad_enabled()


def _complete(
    mask: Bool[Tensor, "*#b #h #t s"] | None, scores: Float[Tensor, "b h t s"], causal: bool
) -> Bool[Tensor, "*#b #h #t s"]:
    """The mask that holds for the scores, also where none was given."""
    queries, keys = scores.shape[2:]
    seen = torch.ones(queries if causal else 1, keys, dtype=torch.bool, device=scores.device)
    seen = seen.tril() if causal else seen
    return seen[None, None] if mask is None else mask & seen
