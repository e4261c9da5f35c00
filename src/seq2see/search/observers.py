"""Observers of a search: one that renumbers sources, and one that records a beam as a tree."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.search.hypothesis import Hypothesis, SearchObserver


class RenumberedObserver(SearchObserver):
    """Passes every call on to another observer, which knows the sources of a batch by other numbers.

    Args:
        inner: the other observer.
        names: for each source of the batch, the number by which the other observer knows it.
    """

    def __init__(self, inner: SearchObserver, names: Sequence[int]) -> None:
        self.inner, self.names = inner, torch.tensor(names, dtype=torch.long)
        self.records = inner.records

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        known = dict(zip(self.names[list(sources)].tolist(), sources, strict=True))
        stopped = self.inner.step(list(known), lambda name: contenders(known[name]))
        return {known[name] for name in stopped if name in known}

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        self.inner.decide(self.names.to(sources.device)[sources], margins)

    def grow(
        self,
        sources: Int[Tensor, " b"],
        parents: Int[Tensor, "b c"],
        tokens: Int[Tensor, "b c"],
        logprobs: Float[Tensor, "b c"],
        totals: Float[Tensor, "b c"],
        kept: Bool[Tensor, "b c"],
    ) -> Int[Tensor, "b c"]:
        return self.inner.grow(self.names.to(sources.device)[sources], parents, tokens, logprobs, totals, kept)

    def end(self, source: int, node: int, hypothesis: Hypothesis) -> None:
        self.inner.end(int(self.names[source]), node, hypothesis)


@dataclass(frozen=True)
class BeamNode:
    """Holds one continuation that a beam compared.

    Args:
        parent: the number of the node it continues, which is its index in the list of its source; -1 for a first token.
        token: the id of its token.
        logprob: the log-probability of that token.
        total: the log-probability of all tokens up to here.
        kept: whether it stayed in the beam.
    """

    parent: int
    token: int
    logprob: float
    total: float
    kept: bool


class BeamHistory(SearchObserver):
    """Records every continuation that a beam compared, as a tree for each source.

    `nodes` has the list of nodes of each source, and `ends` its outputs by the node of their last token.
    """

    records = True

    def __init__(self) -> None:
        self.nodes: dict[int, list[BeamNode]] = {}
        self.ends: dict[int, dict[int, Hypothesis]] = {}

    def grow(
        self,
        sources: Int[Tensor, " b"],
        parents: Int[Tensor, "b c"],
        tokens: Int[Tensor, "b c"],
        logprobs: Float[Tensor, "b c"],
        totals: Float[Tensor, "b c"],
        kept: Bool[Tensor, "b c"],
    ) -> Int[Tensor, "b c"]:
        numbers = torch.full_like(parents, -1)
        lists = zip(*(part.tolist() for part in (sources, parents, tokens, logprobs, totals, kept)), strict=True)
        for row, (source, *columns) in enumerate(lists):
            nodes = self.nodes.setdefault(source, [])
            for place, values in enumerate(zip(*columns, strict=True)):
                if values[3] > -torch.inf:  # what a rule forbids was never compared
                    numbers[row, place] = len(nodes)
                    nodes.append(BeamNode(*values))
        return numbers

    def end(self, source: int, node: int, hypothesis: Hypothesis) -> None:
        self.ends.setdefault(source, {})[node] = hypothesis
