"""Decode one hypothesis a row, with a choice at every step: what greedy search and sampling share."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.tree import select
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, State, Step

# (log-probabilities [n v], the rows they belong to [n]) -> the tokens to take [n]
Choose = Callable[[Float[Tensor, "n v"], Int[Tensor, " n"]], Int[Tensor, " n"]]


def walk(
    step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits, *, choose: Choose, copies: int = 1
) -> list[Hypothesis]:
    """Return one hypothesis for each row, with the mean log-probability of its tokens as score.

    A source that is done leaves the batch.

    Args:
        step: decodes one token for each hypothesis.
        state: the state before the first token, one row for each hypothesis.
        fixed: what does not change from step to step, one row for each source.
        limits: what the outputs must obey.
        choose: returns the next token of each row from its log-probabilities.
        copies: how many rows of the state each source has, side by side; a source is done with the last of them.
    """
    found: list[list[tuple[int, float]]] = [[] for _ in range(len(limits.longest) * copies)]
    alive = torch.arange(len(found))
    going = torch.ones(
        len(found), dtype=torch.bool
    )  # rows that are not done; finished ones stay while their source goes on
    tokens = torch.full_like(alive, limits.start)
    history = tokens.new_empty(len(found), 0)
    for position in range(int(limits.longest.max())):
        logits, state = step(tokens, state, fixed)
        owners = alive // copies
        logprobs = limits.logprobs(logits, history, owners)
        tokens = choose(logprobs, alive)
        taken = logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)
        rows = zip(alive.tolist(), going.tolist(), tokens.tolist(), taken.tolist(), strict=True)
        for row, wanted, token, logprob in rows:
            if wanted:
                found[row].append((token, logprob))
        history = torch.cat([history, tokens.unsqueeze(1)], dim=1)
        going &= (tokens != limits.end) & (position + 1 < limits.longest[owners])
        if limits.observer is not None:
            stopped = limits.observer.step(alive.tolist(), lambda row: [_hypothesis(found[row], limits.end)])
            going &= torch.tensor([row not in stopped for row in alive.tolist()])
        open_sources = going.view(-1, copies).any(dim=1)
        if not open_sources.any():
            break
        if not open_sources.all():
            kept = open_sources.repeat_interleave(copies).nonzero().squeeze(1)
            alive, going, tokens, history = alive[kept], going[kept], tokens[kept], history[kept]
            state, fixed = select(state, kept), select(fixed, open_sources.nonzero().squeeze(1))
    return [_hypothesis(row, limits.end) for row in found]


def _hypothesis(row: list[tuple[int, float]], end: int) -> Hypothesis:
    tokens, logprobs = zip(*row, strict=True)
    return Hypothesis(tokens, logprobs, score=sum(logprobs) / len(logprobs), finished=tokens[-1] == end)
