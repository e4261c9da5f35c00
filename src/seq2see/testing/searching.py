"""Laws of search, on a language small enough to list all its outputs."""

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from seq2see.search.hypothesis import Hypothesis, Limits, Search

START, END, SIGNS, LONGEST, SOURCES = 0, 1, 4, 4, 3


def table_step(seed: int) -> tuple[Callable[[Tensor, Any, Any], tuple[Tensor, Any]], Tensor, Tensor]:
    """A step function that looks the logits up by source, position and last token; with its state and fixed part."""
    table = torch.randn(SOURCES, LONGEST + 1, SIGNS, SIGNS, generator=torch.Generator().manual_seed(seed))

    def step(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        sources = fixed.repeat_interleave(len(tokens) // len(fixed))
        return table[sources, state, tokens], state + 1

    return step, torch.zeros(SOURCES, dtype=torch.long), torch.arange(SOURCES)


def limits() -> Limits:
    """The marks of the small language; the second source must be shorter than the others."""
    return Limits(START, END, longest=torch.tensor([LONGEST, 2, LONGEST]), banned=(START,))


def list_outputs(step: Any, source: int, longest: int) -> dict[tuple[int, ...], float]:
    """Every output of one source with its log-probability."""
    outputs = {}
    for length in range(1, longest + 1):
        for tokens in product(range(1, SIGNS), repeat=length):
            ended = tokens[-1] == END
            if END not in tokens[:-1] and (ended or length == longest):
                outputs[tokens] = _rescore(step, source, tokens)
    return outputs


def check_search(search: Search, *, seed: int = 0) -> list[list[Hypothesis]]:
    """Outputs are possible ones within their limits, and their log-probabilities are those of the model."""
    step, state, fixed = table_step(seed)
    found = search(step, state, fixed, limits())
    for source, hypotheses in enumerate(found):
        possible = list_outputs(step, source, int(limits().longest[source]))
        for hypothesis in hypotheses:
            assert hypothesis.tokens in possible, f"{hypothesis.tokens} is no output"
            assert abs(possible[hypothesis.tokens] - hypothesis.logprob) < 1e-4, "the log-probability is another"
            assert hypothesis.finished == (hypothesis.tokens[-1] == END)
    return found


def _rescore(step: Any, source: int, tokens: tuple[int, ...]) -> float:
    state, total, last = torch.zeros(1, dtype=torch.long), 0.0, START
    for token in tokens:
        logits, state = step(torch.tensor([last]), state, torch.tensor([source]))
        total, last = total + logits.log_softmax(dim=-1)[0, token].item(), token
    return total
