"""A head of a memory machine: it moves over the rows of a memory by what stands there and from where it was."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.change import Change, active_changes, overrule, temper
from seq2see.core.trace import active_trace
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Cosine

SHIFTS = 3  # one row back, none, one row on


@dataclass(frozen=True)
class Ring:
    """Rows of a memory in a circle: which of them there are, and the neighbours of each, before it and after it."""

    mask: Bool[Tensor, "b s"]
    before: Int[Tensor, "b s"]
    after: Int[Tensor, "b s"]


def close_ring(mask: Bool[Tensor, "b s"]) -> Ring:
    """The rows that may be read, the last one beside the first; padding stands for itself."""
    lengths = mask.sum(dim=1, keepdim=True).clamp(min=1)
    places = torch.arange(mask.shape[1]).expand(mask.shape)
    before, after = ((places + step).remainder(lengths) for step in (-1, 1))
    return Ring(mask, torch.where(mask, before, places), torch.where(mask, after, places))


class Head(nn.Module):
    """Graves et al. 2014, eq. 5-9: where to look next, from the controller's state h; several heads side by side.

    w^c = softmax(b cos(k, M)), w^g = g w^c + (1 - g) w_{t-1}, w~ = w^g circularly shifted by s, w = w~^c / sum w~^c,
    with the key k, its strength b > 0, the gate g, the shift s and the sharpening c >= 1 all from W h.
    """

    def __init__(self, *, size: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.score = Cosine(query_size=width, key_size=width, strength=None)
        self.normalise = Softmax()
        self.steer = nn.Linear(size, heads * (width + 3 + SHIFTS))

    def begin(self, mask: Bool[Tensor, "b s"]) -> Float[Tensor, "b h s"]:
        """Where heads stand before anything was read: on the first row."""
        first = F.one_hot(torch.zeros(len(mask), dtype=torch.long), mask.shape[1])
        return first.to(self.steer.weight.dtype).unsqueeze(1).expand(-1, self.heads, -1)

    def prepare(self, memory: Float[Tensor, "b s w"]) -> Float[Tensor, "b 1 s w"]:
        """The memory as keys for `forward`."""
        return self.score.prepare(memory.unsqueeze(1))

    def forward(
        self,
        hidden: Float[Tensor, "n d"],
        keys: Float[Tensor, "b 1 s w"],
        ring: Ring,
        stood: Float[Tensor, "n h s"],
    ) -> Float[Tensor, "n h s"]:
        """The weights of each head over the rows; n may be a multiple of b: hypotheses read one memory."""
        sources, _, rows, _ = keys.shape
        # all heads of all hypotheses are queries on the memory of their source
        steering = self.steer(hidden).reshape(sources, 1, -1, self.width + 3 + SHIFTS)
        key, strength, gate, shift, sharpness = steering.split([self.width, 1, 1, SHIFTS, 1], dim=-1)
        scores = F.softplus(strength) * self.score(key.tanh(), keys)
        mask = ring.mask[:, None, None]
        found = self.normalise(scores, mask, key)
        weights = torch.lerp(stood.reshape(found.shape), found, gate.sigmoid())
        weights = _turn(weights, shift.softmax(dim=-1), ring)
        # the same as w^c / sum w^c, and finite however small the weights are
        tiny = torch.finfo(weights.dtype).tiny
        scores = (1 + F.softplus(sharpness)) * weights.clamp(min=tiny).log()
        changes = active_changes(self)
        weights = self._weigh(scores, mask, key, changes) if changes else self.normalise(scores, mask, key)
        weights = weights.reshape(-1, self.heads, rows)
        trace = active_trace()
        if trace is not None:
            trace.record(self, weights.unsqueeze(2))
        return weights

    def _weigh(
        self,
        scores: Float[Tensor, "b 1 q s"],
        mask: Bool[Tensor, "b 1 1 s"],
        key: Float[Tensor, "b 1 q w"],
        changes: Sequence[Change],
    ) -> Float[Tensor, "b 1 q s"]:
        """The normalised scores under changes, which know heads apart from hypotheses."""
        scores, key = (each[:, 0].unflatten(1, (-1, self.heads)).transpose(1, 2) for each in (scores, key))
        weights = overrule(self.normalise(temper(scores, changes), mask, key), mask, changes)
        return weights.transpose(1, 2).flatten(1, 2).unsqueeze(1)

    def read(self, weights: Float[Tensor, "n h s"], memory: Float[Tensor, "b s w"]) -> Float[Tensor, "n r"]:
        """Graves et al. 2014, eq. 2: the sum of the rows under each head, side by side."""
        return (weights.reshape(len(memory), -1, memory.shape[1]) @ memory).reshape(len(weights), -1)


def _turn(weights: Float[Tensor, "b 1 q s"], shift: Float[Tensor, "b 1 q 3"], ring: Ring) -> Float[Tensor, "b 1 q s"]:
    """Graves et al. 2014, eq. 8: w~(i) = sum over j of w(j) s(i - j)."""
    back, stay, on = shift.split(1, dim=-1)
    before, after = (places[:, None, None].expand_as(weights) for places in (ring.before, ring.after))
    return on * weights.gather(-1, before) + stay * weights + back * weights.gather(-1, after)
