"""Laws of search, on a language small enough to list all its outputs, under every rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from seq2see.core.tree import select
from seq2see.search.hypothesis import Hypothesis, Limits, Search, Step
from seq2see.search.rules import Ban, MinLength, NewWord, NoRepeat, Rule, pack_prefixes

START, END, A, B = range(4)
SIGNS, LONGEST, SOURCES = 4, 4, 3
PIECES = ("", "", "a", "b")

History = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A rule as a search is given it, and as a person would say it."""

    permits: Callable[[History, int], bool] = lambda history, token: True
    rules: Sequence[Rule] = ()
    longest: tuple[int, ...] = (LONGEST, 2, LONGEST)  # one source must be shorter than the others
    prefixes: tuple[History, ...] = ((), (), ())
    word_at: tuple[int, ...] = (-1, -1, -1)  # where a's must stand, source by source: they begin a word

    def limits(self, sources: Sequence[int] = range(SOURCES)) -> Limits:
        """What a search of these sources is told."""
        places = torch.tensor([self.word_at[source] for source in sources])
        begins = torch.tensor([False, True, True, False])
        prefixes = pack_prefixes([self.prefixes[source] for source in sources])
        return Limits(
            START,
            END,
            longest=torch.tensor([self.longest[source] for source in sources]),
            banned=(START,),
            rules=[*self.rules, NewWord(places, begins)] if any(self.word_at[s] >= 0 for s in sources) else self.rules,
            prefixes=prefixes if prefixes.numel() else None,
        )

    def choices(self, source: int, history: History) -> list[int]:
        """What may come next: the prefix while it lasts, then what the rule permits, and if that is nothing the end."""
        prefix = self.prefixes[source]
        if len(history) < len(prefix):
            return [prefix[len(history)]]
        words = (A, END) if self.word_at[source] == len(history) else range(1, SIGNS)
        return [token for token in words if self.permits(history, token)] or [END]


def _ends_late(history: History, token: int) -> bool:
    return token != END or len(history) >= 2


def _no_pair_twice(history: History, token: int) -> bool:
    return not history or (history[-1], token) not in list(pairwise(history))


CASES = {
    "no rule": Case(),
    "min length": Case(_ends_late, [MinLength(2, END)]),
    "max length": Case(longest=(2, 1, 3)),
    "no token twice": Case(lambda history, token: token not in history, [NoRepeat(1)]),
    "no pair twice": Case(_no_pair_twice, [NoRepeat(2)]),
    "a banned token": Case(lambda history, token: token != A, [Ban(["a"], PIECES)]),
    "a banned word": Case(lambda history, token: (*history, token)[-3:] != (A, B, A), [Ban(["aba"], PIECES)]),
    "prefix": Case(prefixes=((A, B), (), (B,))),
    "a prefix as long as the output": Case(prefixes=((B, B, A, A), (A, A), ())),
    "a new word": Case(word_at=(1, 0, -1)),
    "a prefix against the rules": Case(
        lambda history, token: token not in history and token != B,
        [NoRepeat(1), Ban(["b"], PIECES)],
        prefixes=((B, B), (), (A,)),
    ),
    "nothing left": Case(
        lambda history, token: token not in history and (token != END or len(history) >= LONGEST),
        [NoRepeat(1), MinLength(LONGEST, END)],
    ),
}


def table_step(seed: int) -> tuple[Step, Tensor, Tensor]:
    """A step function that looks the logits up by source, position and last token; with its state and fixed part."""
    table = torch.randn(SOURCES, LONGEST + 1, SIGNS, SIGNS, generator=torch.Generator().manual_seed(seed))

    def step(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        sources = fixed.repeat_interleave(len(tokens) // len(fixed))
        return table[sources, state, tokens], state + 1

    return step, torch.zeros(SOURCES, dtype=torch.long), torch.arange(SOURCES)


def list_outputs(
    step: Step, state: Any, fixed: Any, source: int, case: Case = CASES["no rule"]
) -> dict[History, float]:
    """Every output of one source that obeys, with its log-probability, all of one length at a time."""
    row = torch.tensor([source])
    state, fixed = select(state, row), select(fixed, row)
    outputs: dict[History, float] = {}
    going: dict[History, float] = {(): 0.0}
    while going:
        last = torch.tensor([history[-1] if history else START for history in going])
        logits, state = step(last, state, fixed)
        parents: list[int] = []
        longer: dict[History, float] = {}
        for parent, (history, logprobs) in enumerate(zip(going, logits.log_softmax(dim=-1).tolist(), strict=True)):
            for token in case.choices(source, history):
                ended = token == END or len(history) + 1 == case.longest[source]
                (outputs if ended else longer)[*history, token] = going[history] + logprobs[token]
                parents += [] if ended else [parent]
        going, state = longer, select(state, torch.tensor(parents, dtype=torch.long))
    return outputs


def check_search(search: Search, *, seed: int = 0) -> dict[str, list[list[Hypothesis]]]:
    """Under every rule outputs obey it, their log-probabilities are the model's, and company changes nothing.

    What was found is given back by rule.
    """
    return {name: _check_case(search, case, seed) for name, case in CASES.items()}


def _check_case(search: Search, case: Case, seed: int) -> list[list[Hypothesis]]:
    step, state, fixed = table_step(seed)
    watched = _watch(step, search, case)
    found = search(watched, state, fixed, case.limits())
    assert len(found) == SOURCES, "every source has a list of outputs"
    for source, hypotheses in enumerate(found):
        possible = list_outputs(step, state, fixed, source, case)
        assert hypotheses, "every source has an output"
        for hypothesis in hypotheses:
            assert hypothesis.tokens in possible, f"{hypothesis.tokens} is no output"
            assert abs(possible[hypothesis.tokens] - hypothesis.logprob) < 1e-4, "the log-probability is another"
            assert hypothesis.finished == (hypothesis.tokens[-1] == END)
        row = torch.tensor([source])
        (alone,) = search(watched, select(state, row), select(fixed, row), case.limits([source]))
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses], "company changes the outputs"
    return found


def _watch(step: Step, search: Search, case: Case) -> Step:
    """The step, with a look at what it costs: no more rows than are asked for, none of sources that must be done."""

    def watched(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        assert len(tokens) % len(fixed) == 0, "hypotheses are a multiple of the sources"
        assert len(tokens) <= max(search.width, 1) * len(fixed), "more hypotheses than the width"
        assert all(case.longest[source] > int(state[0]) for source in fixed.tolist()), "a source beyond its limit"
        return step(tokens, state, fixed)

    return watched
