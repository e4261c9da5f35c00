"""Who looks on sees what the search does, changes nothing, and may call it off."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Hypothesis, Search, Watch
from seq2see.search.sample import Sample
from seq2see.search.watch import History, Renamed
from seq2see.testing.searching import CASES, SOURCES, list_outputs, table_step

SEARCHES = [Greedy(), Sample(seed=3), Beam(width=3, n_best=2), Beam(width=3, n_best=2, consensus=2.0, witnesses=5)]


class Notes(Watch):
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


def search_with(search: Search, watch: Watch | None, case: str = "no rule") -> list[list[Hypothesis]]:
    return search(*table_step(1), replace(CASES[case].limits(), watch=watch))


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_looking_on_changes_nothing(search: Search) -> None:
    for case in ("no rule", "nothing left", "a prefix against the rules"):
        for watch in (Notes(), History()):
            assert search_with(search, watch, case) == search_with(search, None, case)


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


def test_an_exhaustive_beam_grows_the_whole_tree_and_ends_at_every_output() -> None:
    step, state, fixed = table_step(1)
    history = History()
    found = search_with(Beam(width=200, n_best=200), history)
    for source, hypotheses in enumerate(found):
        outputs = list_outputs(step, state, fixed, source, CASES["no rule"])
        assert {read_path(history, source, node) for node in history.ends[source]} == set(outputs)
        assert set(history.ends[source].values()) == set(hypotheses)


def test_a_narrow_beam_shows_what_it_left_out() -> None:
    history = History()
    found = search_with(Beam(width=2), history)
    nodes = history.nodes[0]
    assert any(not node.kept for node in nodes)
    assert all(nodes[node.parent].kept for node in nodes if node.parent >= 0)
    assert all(n.total == pytest.approx(n.logprob + (nodes[n.parent].total if n.parent >= 0 else 0)) for n in nodes)
    assert found[0][0] in history.ends[0].values()


def test_sources_of_a_batch_go_by_other_numbers() -> None:
    notes = Notes(quits=7)
    cut = search_with(Greedy(), Renamed(notes, [5, 6, 7]))
    assert set(notes.seen) == set(notes.margins) == {5, 6, 7}
    assert [len(rows[0].tokens) == 1 for rows in cut][2]


def read_path(history: History, source: int, node: int) -> tuple[int, ...]:
    """The tokens from the first to a node."""
    nodes = history.nodes[source]
    return () if node < 0 else (*read_path(history, source, nodes[node].parent), nodes[node].token)
