"""What a search finds, and what every search must be told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

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


@dataclass(frozen=True)
class Limits:
    """The marks of the vocabulary, and how long an output may become, source by source."""

    start: int
    end: int
    longest: Int[Tensor, " b"]
    shortest: int = 0
    banned: Sequence[int] = field(default_factory=tuple)

    def logprobs(self, logits: Float[Tensor, "n v"], position: int) -> Float[Tensor, "n v"]:
        """Log-probabilities in which what must not come next cannot come; the rest stays as the model says it."""
        allowed = logits.log_softmax(dim=-1)
        banned = [*self.banned, self.end] if position < self.shortest else list(self.banned)
        if banned:
            allowed[:, banned] = -torch.inf
        return allowed


@runtime_checkable
class Search(Protocol):
    """A way from a step function to outputs: for each source a list, best first."""

    width: int  # how many hypotheses of one source are looked at together

    def __call__(self, step: Step, state: Any, fixed: Any, limits: Limits) -> list[list[Hypothesis]]: ...
