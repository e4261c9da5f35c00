"""Laws of search, checked on a language small enough to list all its outputs, under every rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from seq2see.core.tree import select
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, Search, State, Step
from seq2see.search.rules import Ban, MinLength, NewWord, NoRepeat, Rule, pack_prefixes
from seq2see.testing.attention_laws import CPU, Device

START, END, A, B = range(4)
VOCABULARY, MAX_OUTPUT_TOKENS, SOURCES = 4, 4, 3
PIECES = ("", "", "a", "b")

History = tuple[int, ...]


def _permit_all(history: History, token: int) -> bool:
    """Permit every token.

    Args:
        history: the tokens so far, without the start token.
        token: what may come next.
    """
    return True


@dataclass(frozen=True)
class Case:
    """Is a rule twice: as a search takes it, and as a plain function that says what it permits.

    Args:
        permits: tells from the tokens so far, and one more, whether that may come next.
        rules: the same as rules of a search.
        longest: the number of tokens of each source's longest output; one source must have less than the others.
        prefixes: what the outputs of each source must begin with.
        word_at: the position of each source where a new word, an a, must begin; -1 for none.
    """

    permits: Callable[[History, int], bool] = _permit_all
    rules: Sequence[Rule] = ()
    longest: tuple[int, ...] = (MAX_OUTPUT_TOKENS, 2, MAX_OUTPUT_TOKENS)
    prefixes: tuple[History, ...] = ((), (), ())
    word_at: tuple[int, ...] = (-1, -1, -1)

    def limits(self, sources: Sequence[int] = range(SOURCES), device: Device = CPU) -> Limits:
        """Return the limits of a search for some sources.

        Args:
            sources: the numbers of the sources, 0 to 2, in the order of the batch.
            device: where the search computes.
        """
        places = torch.tensor([self.word_at[source] for source in sources])
        begins = torch.tensor([False, True, True, False])
        prefixes = pack_prefixes([self.prefixes[source] for source in sources])
        return Limits(
            START,
            END,
            longest=torch.tensor([self.longest[source] for source in sources], device=device),
            banned=(START,),
            rules=[*self.rules, NewWord(places, begins)] if any(self.word_at[s] >= 0 for s in sources) else self.rules,
            prefixes=prefixes if prefixes.numel() else None,
        )

    def choices(self, source: int, history: History) -> list[int]:
        """Return what may come next: the prefix, then what the rule permits, or the end if it permits nothing.

        Args:
            source: the number of the source.
            history: the tokens so far, without the start token.
        """
        prefix = self.prefixes[source]
        if len(history) < len(prefix):
            return [prefix[len(history)]]
        words = (A, END) if self.word_at[source] == len(history) else range(1, VOCABULARY)
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
        lambda history, token: token not in history and (token != END or len(history) >= MAX_OUTPUT_TOKENS),
        [NoRepeat(1), MinLength(MAX_OUTPUT_TOKENS, END)],
    ),
}


def table_step(seed: int, device: Device = CPU) -> tuple[Step[Tensor, Tensor], Tensor, Tensor]:
    """Return a model that reads logits from a random table by source, position and last token.

    Args:
        seed: where the random numbers of the table start.
        device: where the table is.

    Returns:
        The step function, its state before the first token (the position of each source), and its fixed part (the
        number of each source).
    """
    table = torch.randn(
        SOURCES, MAX_OUTPUT_TOKENS + 1, VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed)
    ).to(device)

    def step(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        sources = fixed.repeat_interleave(len(tokens) // len(fixed))
        return table[sources, state, tokens], state + 1

    return step, torch.zeros(SOURCES, dtype=torch.long, device=device), torch.arange(SOURCES, device=device)


def list_outputs(
    step: Step[State, Fixed], state: State, fixed: Fixed, source: int, case: Case = CASES["no rule"]
) -> dict[History, float]:
    """List every output of one source that obeys the rule, with its log-probability.

    Args:
        step: the step function of a language of `VOCABULARY` tokens.
        state: its state before the first token, one row for each source.
        fixed: its fixed part, one row for each source.
        source: the number of the source.
        case: the rule, the limits and the prefixes.
    """
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


def check_search(search: Search, *, seed: int = 0, device: Device = CPU) -> dict[str, list[list[Hypothesis]]]:
    """Check that outputs obey every rule, have the model's log-probabilities, and do not depend on other sources.

    Args:
        search: the search, as an object.
        seed: chooses the random language that is searched.
        device: where the search computes, such as `pretend_device()`.

    Returns:
        The outputs of each source, by the name of the rule.

    Raises:
        AssertionError: if a law is broken.
    """
    return {name: _check_case(search, case, seed, device) for name, case in CASES.items()}


def _check_case(search: Search, case: Case, seed: int, device: Device) -> list[list[Hypothesis]]:
    step, state, fixed = table_step(seed)  # which lists all outputs
    there, *begun = table_step(seed, device)
    checked = _check_cost(there, search, case)
    found = search(checked, begun[0], begun[1], case.limits(device=device))
    assert len(found) == SOURCES, "every source has a list of outputs"
    for source, hypotheses in enumerate(found):
        possible = list_outputs(step, state, fixed, source, case)
        assert hypotheses, "every source has an output"
        for hypothesis in hypotheses:
            assert hypothesis.tokens in possible, f"{hypothesis.tokens} is no output"
            assert abs(possible[hypothesis.tokens] - hypothesis.logprob) < 1e-4, "the log-probability is another"
            assert hypothesis.finished == (hypothesis.tokens[-1] == END)
        row = torch.tensor([source], device=device)
        state_of_one, fixed_of_one = (select(part, row) for part in begun)
        (alone,) = search(checked, state_of_one, fixed_of_one, case.limits([source], device))
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses], "other sources change the outputs"
    return found


def _check_cost(step: Step[Tensor, Tensor], search: Search, case: Case) -> Step[Tensor, Tensor]:
    """Wrap a step to check its cost: no more rows than the width, and none of sources at their limit."""

    def checked(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        assert len(tokens) % len(fixed) == 0, "hypotheses are a multiple of the sources"
        assert len(tokens) <= max(search.width, 1) * len(fixed), "more hypotheses than the width"
        assert all(case.longest[source] > int(state[0]) for source in fixed.tolist()), "a source beyond its limit"
        return step(tokens, state, fixed)

    return checked
