"""An observer is told what the search does, changes nothing, and may stop it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.registry import part
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Hypothesis, Search, SearchObserver
from seq2see.search.mbr import MinimumBayesRisk
from seq2see.search.observers import BeamHistory, RenumberedObserver
from seq2see.search.sample import Sample
from seq2see.testing.search_laws import CASES, SOURCES, START, list_outputs, table_step

SEARCHES = [
    Greedy(),
    Sample(seed=3),
    Beam(width=3, n_best=2),
    MinimumBayesRisk(search=part("search", {"kind": "beam", "width": 3}), power=2.0, samples=5, n_best=2),
]


class Notes(SearchObserver):
    """Keeps what it is shown, and gives up one source after its first step if it is told to."""

    def __init__(self, quits: int = -1) -> None:
        self.quits = quits
        self.seen: dict[int, list[list[Hypothesis]]] = {}
        self.margins: dict[int, list[float]] = {}

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        for source in sources:
            self.seen.setdefault(source, []).append(contenders(source))
        return {self.quits}

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        for source, margin in zip(sources.tolist(), margins.tolist(), strict=True):
            self.margins.setdefault(source, []).append(margin)


def search_with(search: Search, observer: SearchObserver | None, case: str = "no rule") -> list[list[Hypothesis]]:
    return search(*table_step(1), replace(CASES[case].limits(), observer=observer))


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_looking_on_changes_nothing(search: Search) -> None:
    for case in ("no rule", "nothing left", "a prefix against the rules"):
        for observer in (Notes(), BeamHistory()):
            assert search_with(search, observer, case) == search_with(search, None, case)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_the_output_always_begins_like_a_contender(search: Search) -> None:
    notes = Notes()
    for source, found in enumerate(search_with(search, notes)):
        for contenders in notes.seen[source]:
            heads = [one.tokens for one in contenders]
            assert any(found[0].tokens[: len(head)] == head for head in heads)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_giving_up_one_source_leaves_the_others(search: Search) -> None:
    whole, cut = search_with(search, None), search_with(search, Notes(quits=0))
    assert cut[1:] == whole[1:]
    assert all(len(one.tokens) == 1 for one in cut[0])


def test_margins_are_the_gaps_between_taken_and_left() -> None:
    notes = Notes()
    search_with(Greedy(), notes)
    step, state, fixed = table_step(1)
    logits, _ = step(torch.zeros(SOURCES, dtype=torch.long), state, fixed)
    first, second = (
        CASES["no rule"]
        .limits()
        .logprobs(logits, torch.empty(SOURCES, 0, dtype=torch.long), torch.arange(SOURCES))
        .topk(2, dim=1)
        .values.unbind(dim=1)
    )
    assert [notes.margins[source][0] for source in range(SOURCES)] == pytest.approx((first - second).tolist())


def test_the_margin_of_a_beam_is_that_of_its_last_place() -> None:
    """Two of three first tokens are kept: what counts is how near the third came to the second."""
    notes = Notes()
    search_with(Beam(width=2), notes)
    step, state, fixed = table_step(1)
    logits, _ = step(torch.full((SOURCES,), START), state, fixed)
    totals = logits.log_softmax(dim=1)
    totals[:, START] = -torch.inf
    _, second, third = totals.topk(3, dim=1).values.unbind(dim=1)
    assert [notes.margins[source][0] for source in range(SOURCES)] == pytest.approx((second - third).tolist(), abs=1e-5)


def test_draws_of_minimum_bayes_risk_are_no_news() -> None:
    """None of them alone is what the output may begin with."""
    notes = Notes()
    search_with(part("search", {"kind": "mbr", "search": {"kind": "sample", "n_best": 3}, "samples": 4})(), notes)
    assert not notes.seen


@pytest.mark.parametrize("kind", ["beam", "mbr"])
def test_an_observer_is_told_how_narrowly_outputs_are_ranked(kind: str) -> None:
    """Also how narrowly the last that is returned is before the first that is not."""

    def make(count: int) -> Search:
        inner = {"kind": "beam", "width": 4}
        spec = {**inner, "n_best": count} if kind == "beam" else {"kind": "mbr", "search": inner, "power": 2.0}
        search: Search = part("search", {**spec, "n_best": count})()
        return search

    whole = search_with(make(4), None)
    for count in (1, 2, 4):
        notes = Notes()
        search_with(make(count), notes)
        for source, ranked in enumerate(whole):
            scores = [each.score for each in ranked]
            gaps = [better - worse for better, worse in pairwise(scores[: count + 1])]
            assert notes.margins[source][-len(gaps) :] == pytest.approx(gaps, abs=1e-6)


def test_an_exhaustive_beam_grows_the_whole_tree_and_ends_at_every_output() -> None:
    step, state, fixed = table_step(1)
    history = BeamHistory()
    found = search_with(Beam(width=200, n_best=200), history)
    for source, hypotheses in enumerate(found):
        outputs = list_outputs(step, state, fixed, source, CASES["no rule"])
        assert {read_path(history, source, node) for node in history.ends[source]} == set(outputs)
        assert set(history.ends[source].values()) == set(hypotheses)


def test_a_narrow_beam_shows_what_it_left_out() -> None:
    history = BeamHistory()
    found = search_with(Beam(width=2), history)
    nodes = history.nodes[0]
    assert any(not node.kept for node in nodes)
    assert all(nodes[node.parent].kept for node in nodes if node.parent >= 0)
    assert all(n.total == pytest.approx(n.logprob + (nodes[n.parent].total if n.parent >= 0 else 0)) for n in nodes)
    assert found[0][0] in history.ends[0].values()


def test_sources_of_a_batch_go_by_other_numbers() -> None:
    notes = Notes(quits=7)
    cut = search_with(Greedy(), RenumberedObserver(notes, [5, 6, 7]))
    assert set(notes.seen) == set(notes.margins) == {5, 6, 7}
    assert [len(rows[0].tokens) == 1 for rows in cut][2]


def test_a_recorder_knows_the_sources_by_their_other_numbers() -> None:
    plain, named = BeamHistory(), BeamHistory()
    search_with(Beam(width=2, n_best=2), plain)
    search_with(Beam(width=2, n_best=2), RenumberedObserver(named, [7, 5, 6]))
    assert named.nodes == {name: plain.nodes[source] for source, name in enumerate([7, 5, 6])}
    assert named.ends == {name: plain.ends[source] for source, name in enumerate([7, 5, 6])}


def read_path(history: BeamHistory, source: int, node: int) -> tuple[int, ...]:
    """The tokens from the first to a node."""
    nodes = history.nodes[source]
    return () if node < 0 else (*read_path(history, source, nodes[node].parent), nodes[node].token)
