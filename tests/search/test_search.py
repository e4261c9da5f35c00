"""Search over a language of four tokens, all of whose outputs can be listed."""

from typing import Any

import pytest
import torch

from seq2see.core.errors import SearchError
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Limits
from seq2see.search.sample import Sample, draw
from seq2see.testing import check_search
from seq2see.testing.searching import END, START, limits, list_outputs, table_step

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "search", [Greedy(), Beam(width=1), Beam(width=3, n_best=3), Sample(n_best=3), Sample(top_k=2, temperature=0.5)]
)
def test_what_is_found_is_possible_and_truly_scored(search: Any, seed: int) -> None:
    check_search(search, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    greedy, beam = check_search(Greedy(), seed=seed), check_search(Beam(width=1), seed=seed)
    assert [row[0].tokens for row in greedy] == [row[0].tokens for row in beam]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_wide_beam_is_exhaustive(seed: int, penalty: float) -> None:
    step, state, fixed = table_step(seed)
    found = Beam(width=200, n_best=200, length_penalty=penalty)(step, state, fixed, limits())
    for source, hypotheses in enumerate(found):
        outputs = list_outputs(step, source, int(limits().longest[source]))
        ranked = sorted(outputs, key=lambda tokens: -outputs[tokens] / len(tokens) ** penalty)
        assert [hypothesis.tokens for hypothesis in hypotheses] == ranked


def test_n_best_is_sorted_and_different() -> None:
    for row in check_search(Beam(width=4, n_best=4)):
        assert len({hypothesis.tokens for hypothesis in row}) == 4
        assert [h.score for h in row] == sorted((h.score for h in row), reverse=True)


def test_n_best_needs_room() -> None:
    with pytest.raises(SearchError, match="got 5 of 4"):
        Beam(width=4, n_best=5)


def test_a_beam_of_one_scores_as_greedy_does() -> None:
    greedy, beam = check_search(Greedy()), check_search(Beam(width=1))
    assert [row[0].score for row in greedy] == pytest.approx([row[0].score for row in beam])


def test_something_is_always_drawn() -> None:
    probabilities = torch.tensor([[0.0, 0.7, 0.3]])
    assert draw(probabilities, torch.tensor([1.0])).tolist() == [2]


def test_an_output_may_have_to_be_long() -> None:
    step, state, fixed = table_step(0)
    demand = Limits(START, END, longest=torch.tensor([4, 4, 4]), shortest=2, banned=(START,))
    for search in (Greedy(), Beam(width=3), Sample()):
        assert all(len(row[0].tokens) >= 3 or not row[0].finished for row in search(step, state, fixed, demand))


def test_sampling_draws_from_the_distribution() -> None:
    probabilities = torch.tensor([[0.1, 0.0, 0.6, 0.3]]).expand(4000, -1)
    drawn = draw(probabilities, torch.rand(4000, generator=torch.Generator().manual_seed(0)))
    shares = torch.bincount(drawn, minlength=4) / 4000
    torch.testing.assert_close(shares, probabilities[0], atol=0.03, rtol=0)
    assert shares[1] == 0


def test_top_k_and_top_p_by_hand() -> None:
    logprobs = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    torch.testing.assert_close(Sample(top_k=2).reshape(logprobs), torch.tensor([[0.625, 0.375, 0, 0]]))
    torch.testing.assert_close(Sample(top_p=0.6).reshape(logprobs), torch.tensor([[0.625, 0.375, 0, 0]]))
    torch.testing.assert_close(Sample(top_p=0.01).reshape(logprobs), torch.tensor([[1.0, 0, 0, 0]]))
    hot = Sample(temperature=0.5).reshape(logprobs)
    torch.testing.assert_close(hot[0, 0] / hot[0, 1], torch.tensor((0.5 / 0.3) ** 2))


def test_samples_follow_their_seed() -> None:
    step, state, fixed = table_step(0)
    one, two, other = (Sample(n_best=5, seed=s)(step, state, fixed, limits()) for s in (1, 1, 2))
    assert one == two
    assert one != other
