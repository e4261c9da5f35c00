"""Sampling: draw tokens instead of taking the likeliest."""

from collections.abc import Callable
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.tree import expand
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, State, Step
from seq2see.search.options import Seed, Temperature, TopK, TopP
from seq2see.search.walk import walk


class Sample:
    """Draws each token from softmax(logits / temperature), cut to the top_k likeliest and to the nucleus of mass top_p.

    Nucleus sampling: Holtzman et al. 2020, arXiv:1904.09751. Every source draws from a random stream of its own, which
    starts at the seed: so other sources of the batch change nothing, and equal sources give equal outputs. Outputs are
    ranked by the mean log-probability of their tokens.

    Args:
        temperature: below 1 the likeliest tokens come more often, above 1 less often.
        top_k: draw from so many likeliest tokens; 0 draws from all.
        top_p: draw from the likeliest tokens that have this much probability together; 1 draws from all.
        n_best: how many outputs are drawn; they may be equal.
        seed: where the random streams start.
    """

    width = 1
    reports_margins = False

    def __init__(
        self,
        *,
        temperature: Temperature = 1.0,
        top_k: TopK = 0,
        top_p: TopP = 1.0,
        n_best: Annotated[int, Ge(1)] = 1,
        seed: Seed = 0,
    ) -> None:
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.n_best, self.seed = n_best, seed

    def __call__(self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits) -> list[list[Hypothesis]]:
        draws = [self._draw(step, state, fixed, limits, number) for number in range(self.n_best)]
        return [sorted(rows, key=lambda row: -row.score) for rows in zip(*draws, strict=True)]

    def candidates(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits
    ) -> list[list[Hypothesis]]:
        """Return all draws, for a caller that ranks them itself.

        Args:
            step: decodes one token for each hypothesis.
            state: the state before the first token, one row for each source.
            fixed: what does not change from step to step, one row for each source.
            limits: what the outputs must obey.
        """
        return self(step, state, fixed, limits)

    def _draw(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits, number: int
    ) -> list[Hypothesis]:
        streams = [torch.Generator().manual_seed(self.seed * 7919 + number) for _ in range(len(limits.longest))]

        def choose(logprobs: Float[Tensor, "n v"], sources: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
            chances = torch.cat([torch.rand(1, generator=streams[source]) for source in sources.tolist()])
            return draw(self.reshape(logprobs), chances.to(logprobs.device))

        return walk(step, state, fixed, limits, choose=choose)

    def reshape(self, logprobs: Float[Tensor, "n v"]) -> Float[Tensor, "n v"]:
        """Return the probabilities that are drawn from, [n v]: with temperature, cut, and renormalised.

        Args:
            logprobs: the log-probabilities of the next token, [n v]; -inf for forbidden ones.
        """
        logprobs = logprobs / self.temperature
        if 0 < self.top_k < logprobs.shape[1]:
            smallest = logprobs.topk(self.top_k, dim=1).values[:, -1:]
            logprobs = logprobs.masked_fill(logprobs < smallest, -torch.inf)
        ordered, order = logprobs.softmax(dim=1).sort(dim=1, descending=True)
        # a token stays while the mass before it is below top_p, so the likeliest always stays
        beyond = ordered.cumsum(dim=1) - ordered >= self.top_p
        kept = torch.zeros_like(ordered).scatter(1, order, ordered.masked_fill(beyond, 0.0))
        return kept / kept.sum(dim=1, keepdim=True)


def draw_several(
    step: Step[State, Fixed],
    state: State,
    fixed: Fixed,
    limits: Limits,
    *,
    count: int,
    temperature: float,
    chances: Callable[[Int[Tensor, " n"]], Float[Tensor, " n"]],
) -> list[list[Hypothesis]]:
    """Draw several outputs for each source, all at once.

    Args:
        step: decodes one token for each hypothesis.
        state: the state before the first token, one row for each source.
        fixed: what does not change from step to step, one row for each source.
        limits: what the outputs must obey.
        count: how many outputs are drawn for each source.
        temperature: divides the log-probabilities before tokens are drawn.
        chances: returns for rows [n] a random number from 0 to 1 each, [n]; row r is draw r % count of source
            r // count.
    """

    def choose(logprobs: Float[Tensor, "n v"], rows: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
        return draw((logprobs / temperature).softmax(dim=1), chances(rows).to(logprobs.device))

    found = walk(step, expand(state, count), fixed, limits, choose=choose, copies=count)
    return [found[start : start + count] for start in range(0, len(found), count)]


def draw(probabilities: Float[Tensor, "n v"], chances: Float[Tensor, " n"]) -> Int[Tensor, " n"]:
    """Return the token of each row at which the running sum of the probabilities passes the chance, [n].

    Args:
        probabilities: [n v]; a row need not sum to 1.
        chances: a random number from 0 to 1 for each row, [n], as a share of the row's sum.
    """
    sums = probabilities.cumsum(dim=1)
    total = sums[:, -1]
    below = torch.minimum(chances * total, total.nextafter(torch.zeros_like(total)))  # so that something passes
    places = torch.searchsorted(sums, below.unsqueeze(1), right=True).squeeze(1)
    return places.clamp(max=probabilities.shape[1] - 1)  # nothing passes what is not a number
