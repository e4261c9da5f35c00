"""Normalisers: from scores to weights that sum to one over what may be attended to."""

from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.choice import Choice, active_choices
from seq2see.core.errors import Seq2SeeError
from seq2see.core.shapes import Rate

OUT_OF_REACH = -2.0


class Normaliser(nn.Module):
    """Base of all normalisers; a masked position weighs exactly 0, and a row with no position left gives zeros."""

    fused = False  # whether a fused softmax kernel computes the same
    samples = False  # whether it draws positions in training, and so learns from rewards as well as from gradients

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


class Sparsemax(Normaliser):
    """Martins & Astudillo 2016: the weights nearest to the scores; those of positions that score far below are 0.

    weights = max(score - t, 0), with t such that they sum to one (eq. 3 and algorithm 1).
    """

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        banned = ~mask
        lowest = torch.finfo(scores.dtype).min
        # what scores less than the best by one or more weighs nothing, so by two less is out of reach
        best = scores.detach().masked_fill(banned, lowest).amax(dim=-1, keepdim=True)
        below = (scores - best).masked_fill(banned, OUT_OF_REACH)
        ordered = below.sort(dim=-1, descending=True).values
        sums, counts = ordered.cumsum(dim=-1) - 1, torch.arange(1, scores.shape[-1] + 1)
        weighing = (ordered * counts > sums).sum(dim=-1, keepdim=True)  # at least the best one does
        threshold = sums.gather(-1, weighing - 1) / weighing
        return (below - threshold).clamp(min=0).masked_fill(banned, 0.0)


class Hard(Softmax):
    """Xu et al. 2015, section 4.1: all weight on one position, sampled from the softmax; its argmax when not training.

    A sampled position learns by REINFORCE from the log-likelihood r of its target token, against a moving average b:
    loss = -reward (r - b) log p(position) - entropy H[p]. For a share of the sources the softmax itself is used.

    credit: token, its own token's likelihood alone; or rest, that of its token and of all after it, which a position
    can change too if what was read enters the decoder's state (as in the paper, less what came before the choice).
    """

    fused = False
    samples = True
    total: Tensor
    weight: Tensor

    def __init__(
        self,
        *,
        soft_share: Annotated[float, Ge(0), Le(1)] = 0.5,
        reward: Annotated[float, Ge(0)] = 1.0,
        entropy: Annotated[float, Ge(0)] = 0.01,
        decay: Rate = 0.9,
        credit: Literal["token", "rest"] = "token",
    ) -> None:
        super().__init__()
        self.soft_share, self.reward, self.entropy, self.decay = soft_share, reward, entropy, decay
        self.credit = credit
        # the baseline is total / weight: an average over what was seen, also before much was
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        probabilities = super().forward(scores, mask, query)
        if not self.training:
            return _mark(probabilities.argmax(dim=-1), probabilities)
        chosen = _draw(probabilities.detach())
        soft = self._choose_soft(len(scores)).view(-1, 1, 1)
        self._record(probabilities, chosen, soft)
        return torch.where(soft.unsqueeze(3), probabilities, _mark(chosen, probabilities))

    def reinforce(
        self,
        logprob: Float[Tensor, "n h"],
        entropy: Float[Tensor, "n h"],
        reward: Float[Tensor, " n"],
        mask: Bool[Tensor, "b t"],
    ) -> Float[Tensor, ""]:
        """The loss of the class's equation, summed; the baseline is that of before, and then takes the rewards in."""
        reward = reward.detach()
        gain = reward - self.total / self.weight.clamp(min=1 - self.decay)
        gain = _sum_rest(gain, mask) if self.credit == "rest" else gain
        mean = reward.mean()
        if mean.isfinite():
            self.total.lerp_(mean.to(self.total.dtype), 1 - self.decay)
            self.weight.lerp_(torch.ones_like(self.weight), 1 - self.decay)
        return -(self.reward * gain.unsqueeze(1) * logprob + self.entropy * entropy).sum()

    def _choose_soft(self, sources: int) -> Bool[Tensor, " b"]:
        """The sources that see the softmax itself, the same ones for a whole pass."""
        choices = active_choices()
        if choices is None and torch.is_grad_enabled():
            raise Seq2SeeError(
                "hard attention learns from what it chose, so it must be trained inside seq2see.core.choice.choosing() "
                "and as part of a decoder; got a training pass outside of it; use softmax there."
            )
        if choices is None:
            return torch.rand(sources) < self.soft_share
        return choices.draw_once(self, lambda: torch.rand(sources) < self.soft_share)

    def _record(
        self, probabilities: Float[Tensor, "b h t s"], chosen: Int[Tensor, "b h t"], soft: Bool[Tensor, "b 1 1"]
    ) -> None:
        choices = active_choices()
        if choices is None:
            return
        logs = probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
        free = ~soft & (probabilities.sum(dim=-1) > 0)
        logprob = torch.where(free, logs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1), 0.0)
        choices.record(self, Choice(logprob, entropy=-(probabilities * logs).sum(dim=-1)))


def _sum_rest(gain: Float[Tensor, " n"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " n"]:
    """For every token the sum over itself and all after it in the same target."""
    table = gain.new_zeros(mask.shape).masked_scatter(mask, gain)
    return table.flip(1).cumsum(dim=1).flip(1)[mask]


def _draw(probabilities: Float[Tensor, "b h t s"]) -> Int[Tensor, "b h t"]:
    """One position a row; the random numbers, one a row, do not depend on how far the rows are padded."""
    reached = probabilities.cumsum(dim=-1)
    drawn = torch.rand(probabilities.shape[:-1], dtype=probabilities.dtype).unsqueeze(-1) * reached[..., -1:]
    return (reached <= drawn).sum(dim=-1).clamp(max=probabilities.shape[-1] - 1)


def _mark(chosen: Int[Tensor, "b h t"], probabilities: Float[Tensor, "b h t s"]) -> Float[Tensor, "b h t s"]:
    """Weight 1 at the chosen position, and zeros where nothing could be chosen."""
    alive = (probabilities.sum(dim=-1, keepdim=True) > 0).to(probabilities.dtype)
    return torch.zeros_like(probabilities).scatter(-1, chosen.unsqueeze(-1), alive)
