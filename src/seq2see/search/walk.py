"""Decode one hypothesis a row, with a choice at every step: what greedy search and sampling share."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.tree import select
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, State, Step

# (log-probabilities [n v], on the CPU the rows they belong to [n]) -> the tokens to take [n]
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
    longest = limits.longest.tolist()
    alive = list(range(len(found)))
    going = [True] * len(found)  # rows that are not done; finished ones stay while their source goes on
    owners = torch.arange(len(found), device=limits.longest.device) // copies
    tokens = torch.full_like(owners, limits.start)
    history = tokens.new_empty(len(found), 0)
    for position in range(max(longest)):
        logits, state = step(tokens, state, fixed)
        logprobs = limits.logprobs(logits, history, owners)
        tokens = choose(logprobs, torch.tensor(alive))
        taken = logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)
        history = torch.cat([history, tokens.unsqueeze(1)], dim=1)
        for place, (token, logprob) in enumerate(_read(tokens, taken)):
            if going[place]:
                row = alive[place]
                found[row].append((token, logprob))
                going[place] = token != limits.end and position + 1 < longest[row // copies]
        if limits.observer is not None:
            stopped = limits.observer.step(alive, lambda row: [_hypothesis(found[row], limits.end)])
            going = [wanted and row not in stopped for row, wanted in zip(alive, going, strict=True)]
        sources = [place for place in range(len(alive) // copies) if any(going[place * copies : (place + 1) * copies])]
        if not sources:
            break
        if len(sources) * copies < len(alive):
            places = [source * copies + copy for source in sources for copy in range(copies)]
            alive, going = [alive[place] for place in places], [going[place] for place in places]
            kept = torch.tensor(places, device=tokens.device)
            owners, tokens, history = owners[kept], tokens[kept], history[kept]
            state, fixed = select(state, kept), select(fixed, torch.tensor(sources, device=tokens.device))
    return [_hypothesis(row, limits.end) for row in found]


def _read(tokens: Int[Tensor, " n"], logprobs: Float[Tensor, " n"]) -> Iterator[tuple[int, float]]:
    """Read each token and its log-probability with one look at the device; a float32 holds every id below 2 ** 24."""
    both = torch.stack([tokens.to(logprobs.dtype), logprobs]).tolist()
    return ((int(token), logprob) for token, logprob in zip(*both, strict=True))


def _hypothesis(row: list[tuple[int, float]], end: int) -> Hypothesis:
    tokens, logprobs = zip(*row, strict=True)
    return Hypothesis(tokens, logprobs, score=sum(logprobs) / len(logprobs), finished=tokens[-1] == end)
