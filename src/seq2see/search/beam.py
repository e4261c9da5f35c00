"""Beam search over a step function."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import torch
from annotated_types import Ge
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.core.errors import SearchError
from seq2see.core.tree import expand, select
from seq2see.search.hypothesis import Hypothesis, Limits, Step

T = TypeVar("T")


class Beam:
    """Keep the `width` likeliest beginnings of each source; one that ends takes its place out of the beam.

    So a beam of one is greedy search, and a source is done when all its places are used up. Outputs are ranked by
    log-probability / length ** length_penalty (0: by log-probability alone).
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Ge(1)] = 5,
        length_penalty: Annotated[float, Ge(0)] = 1.0,
        n_best: Annotated[int, Ge(1)] = 1,
    ) -> None:
        if n_best > width:
            raise SearchError(f"n_best must be at most the width of the beam; got {n_best} of {width}; widen the beam.")
        self.width, self.length_penalty, self.n_best = width, length_penalty, n_best

    def __call__(self, step: Step, state: Any, fixed: Any, limits: Limits) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in limits.longest]
        front = _start(len(found), self.width, limits.start)
        state = expand(state, self.width)
        for position in range(int(limits.longest.max())):
            logits, state = step(front.tokens[:, :, -1].flatten(), state, fixed)
            front, parents = _grow(front, limits.logprobs(logits, position))
            front = self._harvest(front, limits, found)
            going = front.live.any(dim=1).nonzero().squeeze(1)
            if len(going) == 0:
                break
            if len(going) < len(front.sources):
                front, parents, fixed = select(front, going), parents[going], select(fixed, going)
            state = _reorder(state, parents.flatten(), rows=len(logits))
        return [sorted(rows, key=lambda row: -row.score)[: self.n_best] for rows in found]

    def _harvest(self, front: "_Front", limits: Limits, found: list[list[Hypothesis]]) -> "_Front":
        """Move what has ended, or has reached its limit, from the front to what was found."""
        ended = front.tokens[:, :, -1] == limits.end
        full = (front.tokens.shape[2] - 1 >= limits.longest[front.sources]).unsqueeze(1)
        done = front.live & (ended | full)
        for row, place in done.nonzero().tolist():
            found[int(front.sources[row])].append(self._hypothesis(front, row, place, limits.end))
        return replace(front, totals=front.totals.masked_fill(done, -torch.inf), places=front.places - done.sum(dim=1))

    def _hypothesis(self, front: "_Front", row: int, place: int, end: int) -> Hypothesis:
        tokens = tuple(front.tokens[row, place, 1:].tolist())
        logprobs = tuple(front.logprobs[row, place, 1:].tolist())
        score = sum(logprobs) / len(tokens) ** self.length_penalty
        return Hypothesis(tokens, logprobs, score=score, finished=tokens[-1] == end)


@dataclass(frozen=True)
class _Front:
    """The beginnings that still grow, k rows for each source that is not done."""

    sources: Int[Tensor, " b"]
    places: Int[Tensor, " b"]  # how many of the k rows are still to be used
    tokens: Int[Tensor, "b k t"]  # the start mark first
    logprobs: Float[Tensor, "b k t"]  # of each token; 0 for the start mark
    totals: Float[Tensor, "b k"]  # log-probability so far; -inf where the row is not in use

    @property
    def live(self) -> Bool[Tensor, "b k"]:
        """The rows in use."""
        return self.totals > -torch.inf


def _start(sources: int, width: int, mark: int) -> _Front:
    """One beginning for each source, from which the first step fills all its places."""
    totals = torch.full((sources, width), -torch.inf)
    totals[:, 0] = 0.0
    return _Front(
        sources=torch.arange(sources),
        places=torch.full((sources,), width),
        tokens=torch.full((sources, width, 1), mark),
        logprobs=torch.zeros(sources, width, 1),
        totals=totals,
    )


def _grow(front: _Front, logprobs: Float[Tensor, "n v"]) -> tuple[_Front, Int[Tensor, "b k"]]:
    """The likeliest continuations, as many as there are places, and the rows of the step that they continue."""
    sources, width = front.totals.shape
    vocabulary = logprobs.shape[1]
    candidates = (front.totals.unsqueeze(2) + logprobs.view(sources, width, vocabulary)).flatten(1)
    totals, best = candidates.topk(width, dim=1)
    parents = best // vocabulary
    taken = logprobs.reshape(sources, -1).gather(1, best)
    past = parents.unsqueeze(2).expand(-1, -1, front.tokens.shape[2])
    grown = replace(
        front,
        tokens=torch.cat([front.tokens.gather(1, past), (best % vocabulary).unsqueeze(2)], dim=2),
        logprobs=torch.cat([front.logprobs.gather(1, past), taken.unsqueeze(2)], dim=2),
        totals=totals.masked_fill(torch.arange(width) >= front.places.unsqueeze(1), -torch.inf),
    )
    return grown, parents + width * torch.arange(sources).unsqueeze(1)


def _reorder(state: T, order: Int[Tensor, " n"], *, rows: int) -> T:
    """The state in the order of its hypotheses; left alone if that did not change."""
    if len(order) == rows and torch.equal(order, torch.arange(rows)):
        return state
    return select(state, order)
