"""The addressing head of a Neural Turing Machine: it moves over the rows of a memory by content and by location."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.interventions import Intervention, active_changes, overrule, temper
from seq2see.core.trace import active_trace
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Cosine

SHIFTS = 3  # one row back, none, one row forward


@dataclass(frozen=True)
class CircularRows:
    """Says which rows a memory has, and for each row the previous and the next one, modulo the number of rows.

    Args:
        mask: True at rows that the memory has, [b s].
        previous: the index of the row before each row, [b s]; that of a masked row is its own.
        next: the index of the row after each row, [b s]; that of a masked row is its own.
    """

    mask: Bool[Tensor, "b s"]
    previous: Int[Tensor, "b s"]
    next: Int[Tensor, "b s"]


def arrange_circularly(mask: Bool[Tensor, "b s"]) -> CircularRows:
    """Make the first row the next one of the last row; a masked row is its own neighbour.

    Args:
        mask: True at rows that the memory has, which come before the others, [b s].
    """
    lengths = mask.sum(dim=1, keepdim=True).clamp(min=1)
    rows = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    previous, following = ((rows + step).remainder(lengths) for step in (-1, 1))
    return CircularRows(mask, torch.where(mask, previous, rows), torch.where(mask, following, rows))


class NtmHead(nn.Module):
    """Computes the weights of one or several heads over the rows of a memory M from the controller's state h.

    Graves et al. 2014 (arXiv:1410.5401), eq. 5-9, with w_{t-1} the weights of the step before:

    w^c = softmax(beta cos(k, M)) by content, w^g = g w^c + (1 - g) w_{t-1} by interpolation, w~ = w^g after a circular
    shift by s, and w = w~^gamma / sum w~^gamma by sharpening. The key k, its strength beta > 0, the gate g in (0, 1),
    the distribution s over shifts by -1, 0 and 1, and gamma >= 1 are all computed from W h.

    Args:
        size: channels d of the controller's state.
        width: channels w of a row of the memory.
        heads: number of heads.
    """

    def __init__(self, *, size: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.score = Cosine(query_size=width, key_size=width, strength=None)
        self.normalise = Softmax()
        self.addressing = nn.Linear(size, heads * (width + 3 + SHIFTS))

    def begin(self, mask: Bool[Tensor, "b s"]) -> Float[Tensor, "b h s"]:
        """Return the weights before the first step: all weight is on the first row, [b h s].

        Args:
            mask: True at rows that the memory has, [b s]; only its shape counts.
        """
        first = F.one_hot(mask.new_zeros(len(mask), dtype=torch.long), mask.shape[1])
        return first.to(self.addressing.weight.dtype).unsqueeze(1).expand(-1, self.heads, -1)

    def prepare(self, memory: Float[Tensor, "b s w"]) -> Float[Tensor, "b 1 s w"]:
        """Return the memory as keys for `forward`.

        Args:
            memory: the rows M, [b s w].
        """
        return self.score.prepare(memory.unsqueeze(1))

    def forward(
        self,
        hidden: Float[Tensor, "n d"],
        keys: Float[Tensor, "b 1 s w"],
        rows: CircularRows,
        previous: Float[Tensor, "n h s"],
    ) -> Float[Tensor, "n h s"]:
        """Return the weights of each head over the rows.

        Args:
            hidden: the controller's state h, [n d]; n may be a multiple of b: hypotheses of a source read one memory.
            keys: what `prepare` returned, [b 1 s w].
            rows: the rows of the memory and their neighbours.
            previous: the weights w_{t-1} of the step before, [n h s].
        """
        sources, _, row_count, _ = keys.shape
        # all heads of all hypotheses are queries on the memory of their source
        address = self.addressing(hidden).reshape(sources, 1, -1, self.width + 3 + SHIFTS)
        key, strength, gate, shift, sharpness = address.split([self.width, 1, 1, SHIFTS, 1], dim=-1)
        scores = F.softplus(strength) * self.score(key.tanh(), keys)
        mask = rows.mask[:, None, None]
        by_content = self.normalise(scores, mask, key)
        previous = previous.reshape(by_content.shape).to(by_content.dtype)
        weights = torch.lerp(previous, by_content, gate.sigmoid().to(by_content.dtype))
        weights = _shift_circularly(weights, shift.softmax(dim=-1), rows)
        # a softmax of gamma log w equals w^gamma / sum w^gamma, and is finite however small the weights are
        tiny = torch.finfo(weights.dtype).tiny
        scores = (1 + F.softplus(sharpness)) * weights.clamp(min=tiny).log()
        changes = active_changes(self)
        weights = self._intervene(scores, mask, key, changes) if changes else self.normalise(scores, mask, key)
        weights = weights.reshape(-1, self.heads, row_count)
        trace = active_trace()
        if trace is not None:
            trace.record(self, weights.unsqueeze(2))
        return weights

    def _intervene(
        self,
        scores: Float[Tensor, "b 1 q s"],
        mask: Bool[Tensor, "b 1 1 s"],
        key: Float[Tensor, "b 1 q w"],
        changes: Sequence[Intervention],
    ) -> Float[Tensor, "b 1 q s"]:
        """Normalise the scores under interventions, which need heads and hypotheses on axes of their own."""
        scores, key = (each[:, 0].unflatten(1, (-1, self.heads)).transpose(1, 2) for each in (scores, key))
        weights = overrule(self.normalise(temper(scores, changes), mask, key), mask, changes)
        return weights.transpose(1, 2).flatten(1, 2).unsqueeze(1)

    def read(self, weights: Float[Tensor, "n h s"], memory: Float[Tensor, "b s w"]) -> Float[Tensor, "n r"]:
        """Return the read vectors r = sum_i w(i) M(i) of all heads side by side (Graves et al. 2014, eq. 2).

        Args:
            weights: the weights w of each head, [n h s]; n may be a multiple of b.
            memory: the rows M, [b s w].
        """
        return (weights.reshape(len(memory), -1, memory.shape[1]) @ memory).reshape(len(weights), -1)


def _shift_circularly(
    weights: Float[Tensor, "b 1 q s"], shift: Float[Tensor, "b 1 q 3"], rows: CircularRows
) -> Float[Tensor, "b 1 q s"]:
    """Convolve the weights with the shifts, indices modulo the rows: w~(i) = sum_j w(j) s(i - j) (eq. 8)."""
    back, stay, forward = shift.split(1, dim=-1)
    previous, following = (places[:, None, None].expand_as(weights) for places in (rows.previous, rows.next))
    return forward * weights.gather(-1, previous) + stay * weights + back * weights.gather(-1, following)
