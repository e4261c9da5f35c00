"""What a search is given (step, limits, observer) and what it returns (hypotheses)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.search.rules import Rule, force, release

State = TypeVar("State")  # a tree of tensors (seq2see.core.tree), one row a hypothesis
Fixed = TypeVar("Fixed")  # a tree of tensors, one row a source

# (tokens [n], state, fixed) -> (logits [n v], state); n hypotheses, a whole multiple of the rows of `fixed`
Step = Callable[[Tensor, State, Fixed], tuple[Tensor, State]]


@dataclass(frozen=True)
class Hypothesis:
    """Holds one output.

    Args:
        tokens: its ids without the start token, and with the end token if that was reached before the limit.
        logprobs: the log-probability of each token, as the model gives it, without temperature or rules.
        score: what the search ranks by; larger is better.
        finished: whether the last token is the end token.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    score: float
    finished: bool

    @property
    def logprob(self) -> float:
        """Return the log-probability of the whole output."""
        return sum(self.logprobs)


class SearchObserver:
    """Is told what a search does; any method may be overridden, and only `step` can change what is found."""

    records = False  # whether `grow` and `end` are to be called

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        """Return the sources to stop, whose outputs are cut where they are; called after each step.

        Args:
            sources: the numbers of the sources that are being decoded.
            contenders: returns the hypotheses of a source that its output may still begin with: those that still grow,
                best first, then the outputs found.
        """
        return ()

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        """Take note of decisions; called at each one.

        Args:
            sources: the source of each decision, [n]; one may occur several times.
            margins: how much more log-probability or score the last kept one has than the best that is not kept, [n];
                infinite if nothing is left out.
        """

    def grow(
        self,
        sources: Int[Tensor, " b"],
        parents: Int[Tensor, "b c"],
        tokens: Int[Tensor, "b c"],
        logprobs: Float[Tensor, "b c"],
        totals: Float[Tensor, "b c"],
        kept: Bool[Tensor, "b c"],
    ) -> Int[Tensor, "b c"]:
        """Return a number for each continuation that a beam compares; called at each step if `records` is true.

        Args:
            sources: the source of each row, [b].
            parents: the number of what each of the c candidates continues, [b c]; -1 for a first token.
            tokens: the token of each candidate, [b c].
            logprobs: the log-probability of that token, [b c].
            totals: the log-probability of all tokens of the candidate, [b c]; -inf for one that a rule forbids.
            kept: True for candidates that stay in the beam, [b c].
        """
        return parents

    def end(self, source: int, node: int, hypothesis: Hypothesis) -> None:
        """Take note of an output; called when it is found, if `records` is true.

        Args:
            source: the number of its source.
            node: the number that `grow` gave to its last token.
            hypothesis: the output.
        """


@dataclass(frozen=True)
class Limits:
    """Holds what every search obeys: start and end tokens, the longest output of each source, rules and prefixes.

    Args:
        start: the id of the start token.
        end: the id of the end token.
        longest: the number of tokens of each source's longest output, the end token included, [b]; at least 1.
        banned: ids that never come, such as padding.
        rules: what forbids further tokens, step by step.
        prefixes: the ids that each source's outputs must begin with, then -1, [b p]; they override every rule. None for
            no prefixes.
        coverage: returns from a state the attention that each hypothesis has paid to each position of its source so
            far, [n s]; None if the model does not attend.
        observer: is told what the search does; None for nobody.
    """

    start: int
    end: int
    longest: Int[Tensor, " b"]
    banned: Sequence[int] = ()
    rules: Sequence[Rule] = ()
    prefixes: Int[Tensor, "b p"] | None = None
    coverage: Callable[[Any], Tensor] | None = None
    observer: SearchObserver | None = None

    def logprobs(
        self, logits: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]
    ) -> Float[Tensor, "n v"]:
        """Return the log-probabilities of the next token, [n v]; -inf for forbidden ones, the model's for all others.

        Where the rules leave no token, they allow the end token.

        Args:
            logits: what the model's step returned, [n v].
            history: the tokens of each hypothesis so far, without the start token, [n t].
            sources: the number of the source of each hypothesis, [n].
        """
        own = logits.log_softmax(dim=-1)
        allowed = own if not self.rules and self.prefixes is None else own.clone()
        if self.banned:
            for token in self.banned:
                allowed[:, token] = -torch.inf
        for rule in self.rules:
            rule(allowed, history, sources)
        if self.rules:
            release(allowed, own, self.end)
        if self.prefixes is not None:
            force(allowed, own, history, self.prefixes.to(sources.device)[sources])
        return allowed


@runtime_checkable
class Search(Protocol):
    """Turns a step function into outputs: a list for each source, best first.

    A search turns logits into log-probabilities with `limits.logprobs`, and so obeys every rule.
    """

    width: int  # how many hypotheses of one source are decoded together

    def __call__(self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits) -> list[list[Hypothesis]]:
        """Return the outputs of each source, best first.

        Args:
            step: decodes one token for each hypothesis.
            state: the state before the first token, one row for each source.
            fixed: what does not change from step to step, one row for each source.
            limits: what the outputs must obey.
        """
        ...


@runtime_checkable
class CandidateSearch(Search, Protocol):
    """Is a search that can list every output it finds, for a caller that ranks them itself."""

    n_best: int
    reports_margins: bool  # whether every decision is told to the observer

    def candidates(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits
    ) -> list[list[Hypothesis]]:
        """Return every output that is found for each source, in any order.

        Args:
            step: decodes one token for each hypothesis.
            state: the state before the first token, one row for each source.
            fixed: what does not change from step to step, one row for each source.
            limits: what the outputs must obey.
        """
        ...


def reports_margins(search: Search) -> bool:
    """Tell whether a search tells its observer the margin of every decision.

    Args:
        search: any search; one without an attribute `reports_margins` does not.
    """
    return bool(getattr(search, "reports_margins", False))
