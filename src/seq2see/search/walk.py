"""Walk every source to its end, one hypothesis each, with a choice at every step; what greedy and sampling share."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.tree import select
from seq2see.search.hypothesis import Hypothesis, Limits, Step

# (log-probabilities [n v], which sources they belong to [n]) -> the tokens to take [n]
Choice = Callable[[Float[Tensor, "n v"], Int[Tensor, " n"]], Int[Tensor, " n"]]


def walk(step: Step, state: Any, fixed: Any, limits: Limits, *, choose: Choice) -> list[Hypothesis]:
    """One hypothesis for each source; a source that is done leaves the batch."""
    found: list[list[tuple[int, float]]] = [[] for _ in limits.longest]
    alive = torch.arange(len(found))
    tokens = torch.full_like(alive, limits.start)
    history = tokens.new_empty(len(found), 0)
    for position in range(int(limits.longest.max())):
        logits, state = step(tokens, state, fixed)
        logprobs = limits.logprobs(logits, history, alive)
        tokens = choose(logprobs, alive)
        taken = logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)
        for source, token, logprob in zip(alive.tolist(), tokens.tolist(), taken.tolist(), strict=True):
            found[source].append((token, logprob))
        history = torch.cat([history, tokens.unsqueeze(1)], dim=1)
        more = (tokens != limits.end) & (position + 1 < limits.longest[alive])
        if limits.watch is not None:
            given_up = limits.watch.step(alive.tolist(), lambda source: [_hypothesis(found[source], limits.end)])
            more &= torch.tensor([source not in given_up for source in alive.tolist()])
        going = more.nonzero().squeeze(1)
        if len(going) == 0:
            break
        if len(going) < len(alive):
            alive, tokens, history = alive[going], tokens[going], history[going]
            state, fixed = select(state, going), select(fixed, going)
    return [_hypothesis(row, limits.end) for row in found]


def _hypothesis(row: list[tuple[int, float]], end: int) -> Hypothesis:
    tokens, logprobs = zip(*row, strict=True)
    return Hypothesis(tokens, logprobs, score=sum(logprobs) / len(logprobs), finished=tokens[-1] == end)
