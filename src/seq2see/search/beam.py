"""Beam search over a step function."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, TypeVar

import torch
import torch.nn.functional as F
from annotated_types import Ge
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.core.errors import SearchError
from seq2see.core.tree import select
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, SearchObserver, State, Step
from seq2see.search.options import BeamWidth, CoveragePenalty, LengthForm, LengthPenalty

T = TypeVar("T")
BLOCK = 64  # neighbouring tokens of a vocabulary whose maxima are compared first
LEAST_COVERAGE = 1e-9  # attention below this counts as this much, so that its logarithm is finite


class Beam:
    """Keeps the `width` likeliest hypotheses of each source; one that ends takes its place out of the beam.

    So a beam of one is greedy search, and a source is done when all its places are used up. Outputs are ranked by
    log-probability / length ** a + b * sum_i log(min(sum_j p_ij, 1)), with a the length penalty (0: by
    log-probability alone), b the coverage penalty and p_ij the attention of output token j to source token i. The
    gnmt form divides by ((5 + length) / 6) ** a instead (Wu et al. 2016, eq. 14, arXiv:1609.08144).

    Args:
        width: how many hypotheses are kept at each step.
        length_penalty: a of the equation; 1 ranks by the mean log-probability of a token.
        length_form: how the length counts, `power` or `gnmt`.
        coverage_penalty: b of the equation; 0 leaves it out, and above 0 the model must attend to its source.
        n_best: how many outputs are returned, best first; at most the width.
    """

    reports_margins = True

    def __init__(
        self,
        *,
        width: BeamWidth = 5,
        length_penalty: LengthPenalty = 1.0,
        length_form: LengthForm = "power",
        coverage_penalty: CoveragePenalty = 0.0,
        n_best: Annotated[int, Ge(1)] = 1,
    ) -> None:
        if n_best > width:
            raise SearchError(f"n_best must be at most the width of the beam; got {n_best} of {width}; widen the beam.")
        self.width, self.n_best = width, n_best
        self.length_penalty, self.length_form, self.coverage_penalty = length_penalty, length_form, coverage_penalty

    def __call__(self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits) -> list[list[Hypothesis]]:
        found = self._find(step, state, fixed, limits, contending=1)
        ranked = [sorted(rows, key=lambda row: -row.score) for rows in found]
        if limits.observer is not None:
            for source, rows in enumerate(ranked):
                gaps = [better.score - worse.score for better, worse in pairwise(rows[: self.n_best + 1])]
                limits.observer.decide(torch.full((len(gaps),), source), torch.tensor(gaps))
        return [rows[: self.n_best] for rows in ranked]

    def candidates(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits
    ) -> list[list[Hypothesis]]:
        """Return every output that is found, in the order in which they ended, for a caller that ranks them itself.

        Args:
            step: decodes one token for each hypothesis.
            state: the state before the first token, one row for each source.
            fixed: what does not change from step to step, one row for each source.
            limits: what the outputs must obey.
        """
        return self._find(step, state, fixed, limits, contending=self.width)

    def _find(
        self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits, *, contending: int
    ) -> list[list[Hypothesis]]:
        """Return all outputs of each source; of those found so far, the observer is shown the best `contending`."""
        found: list[list[Hypothesis]] = [[] for _ in range(len(limits.longest))]
        front, width = _start(limits, self.width), self.width
        for _ in range(int(limits.longest.max())):
            logits, state = step(front.tokens[:, :, -1].flatten(), state, fixed)
            front = _grow(front, limits.logprobs(logits, front.history, front.owners), width, limits.observer)
            stopped = self._observe(front, limits, found, contending)
            front = self._harvest(front, self._cover(state, limits), limits, found, stopped)
            live, places = torch.stack([front.live.sum(dim=1), front.places]).tolist()  # one look at the device
            going = [row for row, count in enumerate(live) if count]
            if not going:
                break
            if len(going) < len(live):
                kept = torch.tensor(going, device=front.places.device)
                front, fixed = select(front, kept), select(fixed, kept)
            width = max(places[row] for row in going)
            front = _tighten(front, max(live))
            state = _reorder(state, front.parents.flatten(), rows=len(logits))
        return found

    def _observe(
        self, front: "_Front", limits: Limits, found: list[list[Hypothesis]], contending: int
    ) -> Collection[int]:
        """Tell the observer what the outputs may still be, and return the sources to stop."""
        if limits.observer is None:
            return ()
        sources = front.sources.tolist()

        def contenders(source: int) -> list[Hypothesis]:
            row = sources.index(source)
            places = front.live[row].nonzero().squeeze(1).tolist()
            growing = [self._hypothesis(front, row, place, limits.end, 0.0) for place in places]
            best_first = sorted(found[source], key=lambda one: -one.score)
            return [*growing, *best_first[:contending]]

        return limits.observer.step(sources, contenders)

    def _cover(self, state: object, limits: Limits) -> Float[Tensor, " n"] | None:
        """Return the coverage part of the score for each row of the step."""
        if not self.coverage_penalty:
            return None
        if limits.coverage is None:
            raise SearchError("coverage_penalty needs a model that attends to its source; leave it out.")
        paid = limits.coverage(state)
        return self.coverage_penalty * paid.clamp(min=LEAST_COVERAGE, max=1.0).log().sum(dim=1)

    def _harvest(
        self,
        front: "_Front",
        coverage: Float[Tensor, " n"] | None,
        limits: Limits,
        found: list[list[Hypothesis]],
        stopped: Collection[int],
    ) -> "_Front":
        """Move what has ended, has reached its limit or was stopped from the front to what was found."""
        ended = front.tokens[:, :, -1] == limits.end
        full = front.tokens.shape[2] - 1 >= limits.longest[front.sources]
        if stopped:
            full |= torch.isin(front.sources, torch.tensor(list(stopped), device=full.device))
        done = front.live & (ended | full.unsqueeze(1))
        ends = [(row, place) for row, marks in enumerate(done.tolist()) for place, end in enumerate(marks) if end]
        for row, place in ends:
            extra = 0.0 if coverage is None else coverage[front.parents[row, place]].item()
            source, one = int(front.sources[row]), self._hypothesis(front, row, place, limits.end, extra)
            found[source].append(one)
            if limits.observer is not None and front.nodes is not None:
                limits.observer.end(source, int(front.nodes[row, place]), one)
        return replace(front, totals=front.totals.masked_fill(done, -torch.inf), places=front.places - done.sum(dim=1))

    def _hypothesis(self, front: "_Front", row: int, place: int, end: int, extra: float) -> Hypothesis:
        tokens = tuple(front.tokens[row, place, 1:].tolist())
        logprobs = tuple(front.logprobs[row, place, 1:].tolist())
        length = (5 + len(tokens)) / 6 if self.length_form == "gnmt" else len(tokens)
        score = sum(logprobs) / length**self.length_penalty + extra
        return Hypothesis(tokens, logprobs, score=score, finished=tokens[-1] == end)


@dataclass(frozen=True)
class _Front:
    """Holds the hypotheses that still grow, k rows for each source that is not done."""

    sources: Int[Tensor, " b"]
    places: Int[Tensor, " b"]  # how many outputs are still to be found
    tokens: Int[Tensor, "b k t"]  # the start token first
    logprobs: Float[Tensor, "b k t"]  # of each token; 0 for the start token
    totals: Float[Tensor, "b k"]  # log-probability so far; -inf where the row is not in use
    parents: Int[Tensor, "b k"]  # the rows of the last step that these continue
    nodes: Int[Tensor, "b k"] | None = None  # the number that a recording observer gave to each

    @property
    def live(self) -> Bool[Tensor, "b k"]:
        """Return the rows in use."""
        return self.totals > -torch.inf

    @property
    def history(self) -> Int[Tensor, "n t"]:
        """Return the tokens of each row so far, without the start token."""
        return self.tokens[:, :, 1:].flatten(0, 1)

    @property
    def owners(self) -> Int[Tensor, " n"]:
        """Return the source of each row."""
        return self.sources.repeat_interleave(self.totals.shape[1])


def _start(limits: Limits, width: int) -> _Front:
    """Return one hypothesis for each source: the start token."""
    sources, device = len(limits.longest), limits.longest.device
    return _Front(
        sources=torch.arange(sources, device=device),
        places=torch.full((sources,), width, device=device),
        tokens=torch.full((sources, 1, 1), limits.start, device=device),
        logprobs=torch.zeros(sources, 1, 1, device=device),
        totals=torch.zeros(sources, 1, device=device),
        parents=torch.arange(sources, device=device).unsqueeze(1),
    )


def _grow(front: _Front, logprobs: Float[Tensor, "n v"], width: int, observer: SearchObserver | None = None) -> _Front:
    """Return the likeliest continuations of each source, as many as it has places: at most `width`."""
    sources, rows = front.totals.shape
    # an observer is told of what is left out, too
    seen = width + (0 if observer is None else width if observer.records else 1)
    best, tokens = top(logprobs, min(seen, logprobs.shape[1]))  # what is best of all is among the best of its row
    each = best.shape[1]
    candidates = (front.totals.unsqueeze(2) + best.view(sources, rows, each)).flatten(1)
    totals, chosen = candidates.topk(min(seen, rows * each), dim=1)
    added = [part.reshape(sources, -1).gather(1, chosen) for part in (tokens, best)]
    nodes = None if observer is None else _report(front, observer, totals, chosen // each, *added)
    totals, parents = totals[:, :width], (chosen // each)[:, :width]
    past = parents.unsqueeze(2).expand(-1, -1, front.tokens.shape[2])
    last = [part[:, :width].unsqueeze(2) for part in added]
    return replace(
        front,
        tokens=torch.cat([front.tokens.gather(1, past), last[0]], dim=2),
        logprobs=torch.cat([front.logprobs.gather(1, past), last[1]], dim=2),
        totals=totals.masked_fill(
            torch.arange(width, device=totals.device)[: totals.shape[1]] >= front.places.unsqueeze(1), -torch.inf
        ),
        parents=parents + rows * torch.arange(sources, device=parents.device).unsqueeze(1),
        nodes=None if nodes is None else nodes[:, :width],
    )


def _report(
    front: _Front,
    observer: SearchObserver,
    totals: Float[Tensor, "b c"],
    parents: Int[Tensor, "b c"],
    tokens: Int[Tensor, "b c"],
    logprobs: Float[Tensor, "b c"],
) -> Int[Tensor, "b c"] | None:
    """Tell the observer which continuations are kept, and by which margin; return their numbers, if it records."""
    ends = front.places.unsqueeze(1).clamp(max=totals.shape[1])
    left = F.pad(totals, (0, 1), value=-torch.inf).gather(1, ends).squeeze(1)
    margins = totals.gather(1, ends - 1).squeeze(1) - left
    observer.decide(front.sources, margins.masked_fill(left == -torch.inf, torch.inf))
    if not observer.records:
        return None
    before = torch.full_like(front.parents, -1) if front.nodes is None else front.nodes
    kept = torch.arange(totals.shape[1], device=totals.device) < front.places.unsqueeze(1)
    return observer.grow(front.sources, before.gather(1, parents), tokens, logprobs, totals, kept)


def _tighten(front: _Front, needed: int) -> _Front:
    """Return the front without the columns that no source uses, live rows first."""
    if needed == front.totals.shape[1]:
        return front
    totals, kept = front.totals.topk(needed, dim=1)
    past = kept.unsqueeze(2).expand(-1, -1, front.tokens.shape[2])
    return replace(
        front,
        tokens=front.tokens.gather(1, past),
        logprobs=front.logprobs.gather(1, past),
        totals=totals,
        parents=front.parents.gather(1, kept),
        nodes=None if front.nodes is None else front.nodes.gather(1, kept),
    )


def _reorder(state: T, order: Int[Tensor, " m"], *, rows: int) -> T:
    """Return the state in the order of its hypotheses; as it is if that did not change."""
    if len(order) == rows and torch.equal(order, torch.arange(rows, device=order.device)):
        return state
    return select(state, order)


def top(scores: Float[Tensor, "n v"], count: int) -> tuple[Float[Tensor, "n c"], Int[Tensor, "n c"]]:
    """Return the largest scores of each row and their positions, [n c] each, largest first.

    torch's topk copies a whole row, and its max with positions takes ten times as long as one without. In a long row
    the largest scores can only be in `count` blocks: those with the largest maxima.

    Args:
        scores: [n v].
        count: how many of each row, c; at most v.
    """
    vocabulary = scores.shape[1]
    if vocabulary <= 2 * count * BLOCK:
        return scores.topk(count, dim=1)
    whole = vocabulary // BLOCK * BLOCK
    blocks = scores[:, :whole].unflatten(1, (-1, BLOCK)).amax(dim=2).topk(count, dim=1).indices
    inside = (blocks.unsqueeze(2) * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    rest = torch.arange(whole, vocabulary, device=scores.device).expand(len(scores), -1)
    places = torch.cat([inside, rest], dim=1)
    best = scores.gather(1, places).topk(count, dim=1)
    return best.values, places.gather(1, best.indices)
