"""What a search finds, and what every search must be told."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.search.rules import Rule, force, release

# (tokens [n], state, fixed) -> (logits [n v], state); n hypotheses, a whole multiple of the rows of `fixed`
Step = Callable[[Tensor, Any, Any], tuple[Tensor, Any]]


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens without the start mark, with the end mark if it was reached before the limit."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]  # of each token, as the model says it
    score: float  # what the search ranks by
    finished: bool

    @property
    def logprob(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.logprobs)


class Watch:
    """Somebody who looks on while a search works; a search calls only where there is somebody."""

    records = False  # whether `grow` and `end` are to be called

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        """After each step: the sources at work, and what the output of each may still begin with, the best first.

        What comes back are the sources to give up; their outputs are cut where they stand.
        """
        return ()

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        """How much likelier what was taken is than what was left, wherever a search decides."""

    def grow(
        self,
        sources: Int[Tensor, " b"],
        parents: Int[Tensor, "b c"],
        tokens: Int[Tensor, "b c"],
        logprobs: Float[Tensor, "b c"],
        totals: Float[Tensor, "b c"],
        kept: Bool[Tensor, "b c"],
    ) -> Int[Tensor, "b c"]:
        """The continuations a beam looked at, with a number for each that later ones name as parent (the first: -1)."""
        return parents

    def end(self, source: int, node: int, hypothesis: Hypothesis) -> None:
        """One of those numbers has become an output."""


@dataclass(frozen=True)
class Limits:
    """The marks of the vocabulary, how long an output may become, source by source, and the rules it obeys."""

    start: int
    end: int
    longest: Int[Tensor, " b"]  # tokens, the end mark included
    banned: Sequence[int] = ()  # tokens that never come, such as the mark of padding
    rules: Sequence[Rule] = ()
    prefixes: Int[Tensor, "b p"] | None = None  # with what outputs must begin, -1 behind it; it beats every rule
    # the attention that each hypothesis has paid to each position of its source [n s], read off a state
    coverage: Callable[[Any], Tensor] | None = None
    watch: Watch | None = None  # who looks on

    def logprobs(
        self, logits: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]
    ) -> Float[Tensor, "n v"]:
        """Log-probabilities in which what must not come next is -inf; the rest stays as the model says it.

        `history` holds what each hypothesis has written, without the start mark, and `sources` whose output it is.
        Something can always come: where the rules leave nothing, that is the end mark.
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
    """A way from a step function to outputs: for each source a list, best first.

    It turns logits into log-probabilities with `limits.logprobs`, and so obeys every rule.
    """

    width: int  # how many hypotheses of one source are looked at together

    def __call__(self, step: Step, state: Any, fixed: Any, limits: Limits) -> list[list[Hypothesis]]: ...
