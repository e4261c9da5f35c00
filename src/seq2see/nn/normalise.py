"""Normalisers: from scores to weights that sum to one over the allowed positions."""

from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.core.option_types import Rate
from seq2see.core.sampled_choices import SampledChoice, active_choices

SPARSEMAX_ZERO_SCORE = -2.0  # a score this far below the best has weight 0


class Normaliser(nn.Module):
    """Base of all normalisers: a masked position gets the weight 0 exactly, and a row without any position gives zeros.

    A normaliser of your own overrides `forward`; `seq2see.testing.check_normaliser` checks it.
    """

    fused = False  # whether a fused softmax kernel computes the same
    samples = False  # whether it samples positions in training, and so learns by REINFORCE as well as from gradients

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        """Return the weights of the scores.

        Args:
            scores: one number for each pair of query and key, [b h t s].
            mask: True where a query may attend to a key, in a shape that broadcasts to [b h t s].
            query: the queries [b h t q], for normalisers that depend on them.
        """
        raise NotImplementedError


class Softmax(Normaliser):
    """Normalises by the softmax: weight_s = exp(score_s) / sum over all allowed positions j of exp(score_j)."""

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
    """Projects the scores onto the probability simplex, which makes the weights of low scores exactly 0.

    weight_s = max(score_s - t, 0) with t such that the weights sum to 1 (Martins & Astudillo 2016, arXiv:1602.02068,
    eq. 3 and algorithm 1).
    """

    def forward(
        self,
        scores: Float[Tensor, "b h t s"],
        mask: Bool[Tensor, "*#b #h #t s"],
        query: Float[Tensor, "b h t q"],
    ) -> Float[Tensor, "b h t s"]:
        banned = ~mask
        lowest = torch.finfo(scores.dtype).min
        # a position that scores less than the best by 1 or more has weight 0, so masked ones are put 2 below the best
        best = scores.detach().masked_fill(banned, lowest).amax(dim=-1, keepdim=True)
        below = (scores - best).masked_fill(banned, SPARSEMAX_ZERO_SCORE)
        ordered = below.sort(dim=-1, descending=True).values
        sums, counts = ordered.cumsum(dim=-1) - 1, torch.arange(1, scores.shape[-1] + 1, device=scores.device)
        weighing = (ordered * counts > sums).sum(dim=-1, keepdim=True)  # at least the best one does
        threshold = sums.gather(-1, weighing - 1) / weighing
        return (below - threshold).clamp(min=0).masked_fill(banned, 0.0)


class Hard(Softmax):
    """Puts all weight on one position: sampled from the softmax in training, its argmax otherwise.

    Xu et al. 2015 (arXiv:1502.03044), section 4.1. A sampled position learns by REINFORCE (Williams 1992,
    doi:10.1007/BF00992696) from the log-likelihood r of its target token against a moving average b of r:
    loss = -reward (r - b) log p(position) - entropy H[p].

    Args:
        soft_share: the share of the sources, 0 to 1, that use the softmax itself in training.
        reward: the factor of the REINFORCE term.
        entropy: the factor of the entropy H[p] of the softmax; larger values keep the sampling varied.
        decay: the share of the baseline b that an update keeps, from 0 to below 1.
        credit: `token` takes the likelihood of the position's own token as r; `rest` adds that of all tokens after it,
            which a position changes too if the context enters the decoder's state (as in the paper, but without the
            tokens before the choice).
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
        # the baseline is total / weight, which is an unbiased average after few updates too
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
        soft = self._choose_soft(scores).view(-1, 1, 1)
        self._record(probabilities, chosen, soft)
        return torch.where(soft.unsqueeze(3), probabilities, _mark(chosen, probabilities))

    def reinforce(
        self,
        logprob: Float[Tensor, "n h"],
        entropy: Float[Tensor, "n h"],
        reward: Float[Tensor, " n"],
        mask: Bool[Tensor, "b t"],
    ) -> Float[Tensor, ""]:
        """Return the loss of the class's equation, summed over all choices, and update the baseline afterwards.

        Args:
            logprob: log p of the sampled position, [n h] for n target tokens.
            entropy: H[p] of each choice, [n h].
            reward: r, the log-likelihood of each target token, [n].
            mask: True at real target tokens, [b t]; n of them are True.
        """
        reward = reward.detach()
        gain = reward - self.total / self.weight.clamp(min=1 - self.decay)
        gain = _sum_rest(gain, mask) if self.credit == "rest" else gain
        mean = reward.mean()
        if mean.isfinite():
            self.total.lerp_(mean.to(self.total.dtype), 1 - self.decay)
            self.weight.lerp_(torch.ones_like(self.weight), 1 - self.decay)
        return -(self.reward * gain.unsqueeze(1) * logprob + self.entropy * entropy).sum()

    def _choose_soft(self, scores: Float[Tensor, "b h t s"]) -> Bool[Tensor, " b"]:
        """Choose the sources that use the softmax itself, the same ones for a whole pass."""
        choices = active_choices()
        if choices is None and torch.is_grad_enabled():
            raise Seq2SeeError(
                "hard attention learns from what it sampled, so it must be trained inside "
                "seq2see.core.sampled_choices.choosing() and as part of a decoder; got a training pass outside of it; "
                "use softmax there."
            )
        if choices is None:
            return self._draw_soft(scores)
        return choices.draw_once(self, lambda: self._draw_soft(scores))

    def _draw_soft(self, scores: Float[Tensor, "b h t s"]) -> Bool[Tensor, " b"]:
        return torch.rand(len(scores), device=scores.device) < self.soft_share

    def _record(
        self, probabilities: Float[Tensor, "b h t s"], chosen: Int[Tensor, "b h t"], soft: Bool[Tensor, "b 1 1"]
    ) -> None:
        choices = active_choices()
        if choices is None:
            return
        logs = probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
        free = ~soft & (probabilities.sum(dim=-1) > 0)
        logprob = torch.where(free, logs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1), 0.0)
        choices.record(self, SampledChoice(logprob, entropy=-(probabilities * logs).sum(dim=-1)))


def _sum_rest(gain: Float[Tensor, " n"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " n"]:
    """Sum for every token over itself and all tokens after it in the same target."""
    table = gain.new_zeros(mask.shape).masked_scatter(mask, gain)
    return table.flip(1).cumsum(dim=1).flip(1)[mask]


def _draw(probabilities: Float[Tensor, "b h t s"]) -> Int[Tensor, "b h t"]:
    """Draw one position a row; it takes one random number a row, so padding does not change the draw."""
    reached = probabilities.cumsum(dim=-1)
    drawn = torch.rand(reached.shape[:-1], dtype=reached.dtype, device=reached.device).unsqueeze(-1) * reached[..., -1:]
    return (reached <= drawn).sum(dim=-1).clamp(max=probabilities.shape[-1] - 1)


def _mark(chosen: Int[Tensor, "b h t"], probabilities: Float[Tensor, "b h t s"]) -> Float[Tensor, "b h t s"]:
    """Return weight 1 at the chosen position, and zeros in rows without any position."""
    alive = (probabilities.sum(dim=-1, keepdim=True) > 0).to(probabilities.dtype)
    return torch.zeros_like(probabilities).scatter(-1, chosen.unsqueeze(-1), alive)
