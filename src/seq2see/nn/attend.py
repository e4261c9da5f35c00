"""Attention: score -> normalise -> aggregate. The only place in the package where weights exist.

Axis letters: b sources, h heads, t queries, s keys, w keys of a window, q, k and d channels of queries, keys and
values.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.interventions import active_changes, overrule, temper
from seq2see.core.trace import active_trace
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score
from seq2see.nn.shared_gradient import shares_gradients, weighted_sum
from seq2see.nn.window import Window, take

# a step of decoding has at most so many queries a source, and at least so many sources times heads
MAX_STEP_QUERIES, MIN_STEP_ROWS = 16, 128


class Attend(nn.Module):
    """Computes context = normalise(score(query, keys)) @ values for every query.

    Bahdanau et al. 2015 (arXiv:1409.0473), eq. 5-6, and Vaswani et al. 2017 (arXiv:1706.03762), eq. 1, with any score
    and any normaliser. An active trace records the weights; without one a fused kernel computes the same where there
    is one. With a window each query scores and sums only the keys around its centre (Luong et al. 2015,
    arXiv:1508.04025, section 3.2).

    Args:
        score: from queries [b h t q] and prepared keys [b h s _] to scores [b h t s].
        normalise: from scores [b h t s] and a mask to weights [b h t s] that sum to 1 over the allowed keys.
        window: chooses the keys of each query; None lets every query attend to all keys.
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
        """Compute what depends on the keys alone, once per memory; `forward` takes the result as its keys.

        Args:
            keys: the keys of every head, [b h s k]; an axis of 1 instead of the heads if all heads share them.
        """
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
        """Return the weighted sum of the values for every query.

        Args:
            query: one vector for each query, [b h t q].
            keys: what `prepare` returned, [b h s _].
            values: one vector for each key, [b h s d].
            mask: True where a query may attend to a key, in a shape that broadcasts to [b h t s]; None allows all
                keys. A query without any key gets zeros.
            positions: the number of each query in the target, from 0, [b t]; a window needs it, and a mask.
            causal: let query i attend to the keys 0 to i only; a window ignores it.
            past: tell a trace that all keys come before the queries, and do not belong to a source; it changes no
                result.
        """
        if self.window is not None:
            assert positions is not None
            assert mask is not None
            return self._attend_in_window(self.window, query, keys, values, mask, positions)
        trace, changes = active_trace(), active_changes(self)
        # torch has a fused kernel for keys and values of one width only; else it would scale all keys at every call
        alike = self.normalise.fused and keys.shape[-1] == values.shape[-1] and not shares_gradients(values)
        scale = self.score.fused_scale(query.shape[-1]) if alike else None
        if trace is None and not changes and scale is not None:
            if not causal and _is_step(query):
                return self._attend_unfused(query * scale, keys, values, mask)
            return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal, scale=scale)
        scores: Tensor = self.score(query, keys)
        allowed = _complete(mask, scores, causal)
        weights = overrule(self.normalise(temper(scores, changes), allowed, query), allowed, changes)
        if trace is not None:
            trace.record(self, weights, causal=causal or past)
        return weighted_sum(weights, values)

    def _attend_unfused(
        self,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s q"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"] | None,
    ) -> Float[Tensor, "b h t d"]:
        """Compute what the fused kernel does, from a query that is already scaled."""
        scores = query @ keys.transpose(2, 3)
        weights: Tensor = scores.softmax(dim=-1) if mask is None else self.normalise(scores, mask, query)
        return weights @ values

    def _attend_in_window(
        self,
        window: Window,
        query: Float[Tensor, "b h t q"],
        keys: Float[Tensor, "b h s _"],
        values: Float[Tensor, "b h s d"],
        mask: Bool[Tensor, "*#b #h #t s"],
        positions: Int[Tensor, "b t"],
    ) -> Float[Tensor, "b h t d"]:
        """Compute the same inside windows; without a trace no tensor here grows with s."""
        sources, heads, steps, size = query.shape
        centre = window.centre(query, mask, positions)
        near, allowed = window.cut(centre, mask)
        # a score takes one memory for all queries of a source; here every query has a memory of its own
        alone = query.transpose(1, 2).reshape(-1, heads, 1, size)
        scores = self.score(alone, take(keys, near)).view(sources, steps, heads, -1).transpose(1, 2)
        changes = active_changes(self)
        weights = self.normalise(temper(scores, changes), allowed, query)
        # interventions come last, so that the window does not change the weights they ask for
        weights = overrule(window.fade(weights, near - centre.unsqueeze(-1)), allowed, changes)
        trace = active_trace()
        if trace is not None:
            trace.record(self, weights.new_zeros(*near.shape[:3], keys.shape[2]).scatter(-1, near, weights))
        rows = weights.transpose(1, 2).reshape(-1, heads, 1, near.shape[3])
        return (rows @ take(values, near)).view(sources, steps, heads, -1).transpose(1, 2)


def _is_step(query: Float[Tensor, "b h t q"]) -> bool:
    """Tell whether many sources have few queries each, as in decoding: two products are faster there than the kernel.

    For 290 sources, 4 heads and 14 keys the kernel took 0.54 ms on a core, and two products 0.30 ms; for one source the
    kernel is faster.
    """
    sources, heads, queries, _ = query.shape
    return queries <= MAX_STEP_QUERIES and sources * heads >= MIN_STEP_ROWS and not torch.is_grad_enabled()


def _complete(
    mask: Bool[Tensor, "*#b #h #t s"] | None, scores: Float[Tensor, "b h t s"], causal: bool
) -> Bool[Tensor, "*#b #h #t s"]:
    """Return the mask of the scores, also where none was given or the attention is causal."""
    queries, keys = scores.shape[2:]
    seen = torch.ones(queries if causal else 1, keys, dtype=torch.bool, device=scores.device)
    seen = seen.tril() if causal else seen
    return seen[None, None] if mask is None else mask & seen
