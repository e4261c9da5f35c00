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
    """One output: its tokens without the start token, and with the end token if it was reached before the limit."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]  # of each token, as the model gives it
    score: float  # what the search ranks by
    finished: bool

    @property
    def logprob(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.logprobs)


class SearchObserver:
    """An observer of a search; every method may be overridden, and none changes what is found but `step`."""

    records = False  # whether `grow` and `end` are to be called

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        """Called after each step; returns the sources to stop, whose outputs are cut where they are.

        Args:
            sources: the sources that are being decoded.
            contenders: gives the hypotheses of a source that its output may still begin with, best first.
        """
        return ()

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        """Called at each decision, with the margin in log-probability or score of what is kept over what is not."""

    def grow(
        self,
        sources: Int[Tensor, " b"],
        parents: Int[Tensor, "b c"],
        tokens: Int[Tensor, "b c"],
        logprobs: Float[Tensor, "b c"],
        totals: Float[Tensor, "b c"],
        kept: Bool[Tensor, "b c"],
    ) -> Int[Tensor, "b c"]:
        """Called with the continuations that a beam compares; returns a node number for each, which children name.

        The parent of a first token is -1. `kept` says which continuations stay in the beam.
        """
        return parents

    def end(self, source: int, node: int, hypothesis: Hypothesis) -> None:
        """Called when a node has become an output."""


@dataclass(frozen=True)
class Limits:
    """What every search obeys: start and end tokens, the longest output of each source, rules and prefixes."""

    start: int
    end: int
    longest: Int[Tensor, " b"]  # tokens, the end token included
    banned: Sequence[int] = ()  # tokens that never come, such as padding
    rules: Sequence[Rule] = ()
    prefixes: Int[Tensor, "b p"] | None = None  # what outputs must begin with, then -1; it overrides every rule
    # reads off a state the attention that each hypothesis has paid to each position of its source [n s]
    coverage: Callable[[Any], Tensor] | None = None
    observer: SearchObserver | None = None

    def logprobs(
        self, logits: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]
    ) -> Float[Tensor, "n v"]:
        """Log-probabilities of the next token; those of forbidden tokens are -inf, the others stay the model's.

        Something can always come: where the rules leave nothing, that is the end token.

        Args:
            logits: of the model.
            history: the tokens of each hypothesis so far, without the start token.
            sources: the source of each hypothesis.
        """
        own = logits.log_softmax(dim=-1)
        allowed = own if not self.rules and self.prefixes is None else own.clone()
        if self.banned:
            allowed[:, list(self.banned)] = -torch.inf
        for rule in self.rules:
            rule(allowed, history, sources)
        if self.rules:
            release(allowed, own, self.end)
        if self.prefixes is not None:
            force(allowed, own, history, self.prefixes[sources])
        return allowed


@runtime_checkable
class Search(Protocol):
    """Turns a step function into outputs: a list for each source, best first.

    A search turns logits into log-probabilities with `limits.logprobs`, and so obeys every rule.
    """

    width: int  # how many hypotheses of one source are decoded together

    def __call__(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits
    ) -> list[list[Hypothesis]]: ...


@runtime_checkable
class CandidateSearch(Search, Protocol):
    """A search that can list every output it finds, for a caller that ranks them itself."""

    n_best: int
    reports_margins: bool  # whether every decision is told to the observer

    def candidates(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits
    ) -> list[list[Hypothesis]]: ...


def reports_margins(search: Search) -> bool:
    """Whether a search tells its observer how narrow every decision was; a search of one's own may leave it out."""
    return bool(getattr(search, "reports_margins", False))
