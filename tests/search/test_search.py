"""Search over a language of four tokens, all of whose outputs can be listed."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2see.core.errors import SearchError
from seq2see.core.registry import names, part
from seq2see.search.beam import Beam, top
from seq2see.search.ensemble import average
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Hypothesis, Limits
from seq2see.search.mbr import SAMPLE_TEMPERATURE, MinimumBayesRisk, draw_samples, score_candidates
from seq2see.search.sample import Sample, draw
from seq2see.testing import check_search
from seq2see.testing.search_laws import CASES, END, SOURCES, START, list_outputs, table_step

SEARCHES = [
    *({"kind": name} for name in names("search") if name != "mbr"),
    {"kind": "beam", "width": 1},
    {"kind": "beam", "width": 3, "n_best": 3, "length_form": "gnmt"},
    {"kind": "mbr", "search": "beam"},
    {"kind": "mbr", "search": {"kind": "beam", "width": 3}, "n_best": 2, "power": 2.0},
    {"kind": "mbr", "search": {"kind": "beam", "width": 3}, "n_best": 2, "power": 2.0, "samples": 7, "precision": 0.7},
    {"kind": "mbr", "search": {"kind": "sample", "n_best": 3}, "n_best": 2, "samples": 4},
    {"kind": "sample", "n_best": 3},
    {"kind": "sample", "top_k": 2, "temperature": 0.5},
]


def tokens_of(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in row] for row in found]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_every_search_obeys_every_rule(search: Any, device: torch.device) -> None:
    check_search(part("search", search)(), device=device)


def test_a_beam_of_one_is_greedy_under_every_rule() -> None:
    step, state, fixed = table_step(1)
    for case in CASES.values():
        greedy, beam = (search(step, state, fixed, case.limits()) for search in (Greedy(), Beam(width=1)))
        assert tokens_of(greedy) == tokens_of(beam)
        assert [row[0].score for row in greedy] == pytest.approx([row[0].score for row in beam])


@pytest.mark.parametrize("form", [{"length_penalty": 0.0}, {}, {"length_penalty": 0.6, "length_form": "gnmt"}], ids=str)
def test_a_wide_beam_is_exhaustive_under_every_rule(form: dict[str, Any]) -> None:
    step, state, fixed = table_step(0)
    for name, case in CASES.items():
        found = Beam(width=200, n_best=200, **form)(step, state, fixed, case.limits())
        for source, hypotheses in enumerate(found):
            outputs = list_outputs(step, state, fixed, source, case)
            scores = {tokens: rank(outputs[tokens], len(tokens), **form) for tokens in outputs}
            assert [h.tokens for h in hypotheses] == sorted(outputs, key=lambda tokens: -scores[tokens]), name
            assert [h.score for h in hypotheses] == pytest.approx([scores[h.tokens] for h in hypotheses], abs=1e-4)


def rank(logprob: float, length: int, length_penalty: float = 1.0, length_form: str = "power") -> float:
    """The score of an output, as the papers write it."""
    if length_form == "gnmt":
        return logprob / ((5 + length) ** length_penalty / (5 + 1) ** length_penalty)
    return logprob / length**length_penalty


def test_coverage_counts_what_was_looked_at() -> None:
    step, state, fixed = table_step(0)
    looks = torch.rand(5, 4, 3, generator=torch.Generator().manual_seed(1)).softmax(
        dim=-1
    )  # by position and last token

    def looking(tokens: Tensor, state: tuple[Tensor, Tensor], fixed: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        logits, position = step(tokens, state[0], fixed)
        return logits, (position, state[1] + looks[state[0], tokens])

    limits = CASES["no rule"].limits()
    covering = Limits(START, END, limits.longest, limits.banned, coverage=lambda state: state[1])
    beam = Beam(width=200, n_best=200, length_penalty=0.5, coverage_penalty=0.7)
    found = beam(looking, (state, torch.zeros(SOURCES, 3)), fixed, covering)
    for source, hypotheses in enumerate(found):
        outputs = list_outputs(step, state, fixed, source)
        scores = {}
        for tokens, logprob in outputs.items():
            paid = sum(looks[place, last] for place, last in enumerate((START, *tokens[:-1])))
            scores[tokens] = logprob / len(tokens) ** 0.5 + 0.7 * torch.as_tensor(paid).clamp(max=1).log().sum().item()
        assert [h.tokens for h in hypotheses] == sorted(outputs, key=lambda tokens: -scores[tokens])
        assert hypotheses[0].score == pytest.approx(scores[hypotheses[0].tokens], abs=1e-4)


def test_a_source_that_nobody_looked_at_costs_much_but_not_everything() -> None:
    limits = CASES["no rule"].limits()
    blind = Limits(START, END, limits.longest, limits.banned, coverage=lambda state: torch.zeros(len(state), 3))
    found, plain = (Beam(width=200, n_best=200, coverage_penalty=share)(*table_step(0), blind) for share in (0.2, 0.0))
    for source, hypotheses in enumerate(found):
        assert [h.tokens for h in hypotheses] == [h.tokens for h in plain[source]]
        costs = [before.score - after.score for before, after in zip(plain[source], hypotheses, strict=True)]
        assert costs == pytest.approx([0.2 * 3 * 9 * math.log(10)] * len(costs), rel=1e-4)  # each counts as 1e-9


def test_the_expected_utility_of_candidates_by_hand() -> None:
    def say(probability: float, *tokens: int, finished: bool = True) -> Hypothesis:
        whole = (*tokens, END) if finished else tokens
        return Hypothesis(whole, (-1.0,), score=math.log(probability), finished=finished)

    alone, near, nearer, short = say(0.4, 5, 6), say(0.2, 7, 8, 9), say(0.2, 7, 8, finished=False), say(0.2, 7)
    scores = [each.score for each in score_candidates([alone, near, nearer, short], power=1.0)]
    # one token: 5 6 agrees with itself; 7 8 9 and 7 8 share two of three and of two (F-measure 4/5), 7 8 9 and 7 one of
    # three and of one (1/2), 7 8 and 7 one of two and of one (2/3); two tokens: 7 8 9 and 7 8 share one of two and of
    # one (2/3); 7 has none, and agrees with itself alone
    assert scores[0] == pytest.approx(0.4)
    assert scores[1] == pytest.approx((0.2 * (1 + 4 / 5 + 1 / 2) + 0.2 * (1 + 2 / 3)) / 2)
    assert scores[2] == pytest.approx((0.2 * (1 + 4 / 5 + 2 / 3) + 0.2 * (1 + 2 / 3)) / 2)
    assert scores[3] == pytest.approx((0.2 * (1 + 1 / 2 + 2 / 3) + 0.2) / 2)
    assert score_candidates([alone], power=1.0)[0].score == pytest.approx(1)
    sharp = [each.score for each in score_candidates([alone, near, nearer], power=50.0)]
    assert sharp[0] == pytest.approx(1)  # all weight on the likeliest


def test_samples_have_two_thirds_of_the_weight_and_precision_is_for_short_outputs() -> None:
    def say(*tokens: int) -> Hypothesis:
        return Hypothesis((*tokens, END), (-1.0,), score=-1.0, finished=True)

    first, second = say(5, 6), say(7, 8, 9)
    samples = [say(7), say(5, 6, 5, 6)]
    scores = [each.score for each in score_candidates([first, second], samples, power=1.0)]
    # 5 6 and 5 6 5 6 share two of two and of four tokens (2/3), and one of one and of three pairs (1/2)
    assert scores[0] == pytest.approx(1 / 6 + 2 / 3 / 2 * (2 / 3 + 1 / 2) / 2)
    assert scores[1] == pytest.approx(1 / 6 + 2 / 3 / 2 * (1 / 2 + 0) / 2)
    precise, thorough = (
        [each.score for each in score_candidates([first, second], samples, power=1.0, precision=share)]
        for share in (1.0, 0.0)
    )
    assert precise == pytest.approx([1 / 6 + 1 / 3, 1 / 6 + 1 / 3 * (1 / 3) / 2])  # 5 6 says nothing else
    assert thorough == pytest.approx([1 / 6 + 1 / 3 * (2 / 4 + 1 / 3) / 2, 1 / 6 + 1 / 3 / 2])  # 7 8 9 says all of 7


def test_samples_are_drawn_as_often_as_they_are_likely() -> None:
    step, state, fixed = table_step(4)
    limits = CASES["no rule"].limits()
    found = draw_samples(step, state, fixed, limits, count=4000)
    logits, _ = step(torch.full((SOURCES,), START), state, fixed)
    logprobs = limits.logprobs(logits, torch.empty(SOURCES, 0, dtype=torch.long), torch.arange(SOURCES))
    for source, samples in enumerate(found):
        assert len(samples) == 4000
        firsts = torch.bincount(torch.tensor([each.tokens[0] for each in samples]), minlength=logprobs.shape[1])
        expected = (logprobs[source] / SAMPLE_TEMPERATURE).softmax(dim=0)
        torch.testing.assert_close(firsts / 4000, expected, atol=0.03, rtol=0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("samples", [0, 9])
def test_minimum_bayes_risk_only_ranks_anew(name: str, samples: int) -> None:
    step, state, fixed = table_step(4)
    beam = part("search", {"kind": "beam", "width": 6, "n_best": 6})
    around = MinimumBayesRisk(search=beam, power=2.0, samples=samples, n_best=6)
    plain, ranked = (search(step, state, fixed, CASES[name].limits()) for search in (beam(), around))
    for before, after in zip(plain, ranked, strict=True):
        assert {each.tokens: each.logprobs for each in before} == {each.tokens: each.logprobs for each in after}
        assert [each.score for each in after] == sorted((each.score for each in after), reverse=True)


def test_one_candidate_needs_no_samples() -> None:
    single = MinimumBayesRisk(search=part("search", {"kind": "beam", "width": 1}), samples=9)
    assert (single.samples, single.width) == (0, 1)
    several = MinimumBayesRisk(search=part("search", {"kind": "beam", "width": 4}), samples=9)
    assert (several.samples, several.width) == (9, 9)
    for row in single(*table_step(4), CASES["no rule"].limits()):
        assert [each.score for each in row] == pytest.approx([1])  # it agrees with itself


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"search": "greedy"}, "mbr must be around a search that lists its candidates, such as beam; got greedy"),
        ({"search": "beam", "power": 0.0}, "power of mbr must be above 0; got 0"),
        ({"search": {"kind": "beam", "width": 4}, "n_best": 5}, "got 5 of 4; widen the beam"),
    ],
)
def test_minimum_bayes_risk_that_cannot_be_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SearchError, match=sentence):
        part("search", {"kind": "mbr", **options})()


def test_coverage_without_attention_is_refused() -> None:
    step, state, fixed = table_step(0)
    with pytest.raises(SearchError, match="needs a model that attends"):
        Beam(coverage_penalty=0.2)(step, state, fixed, CASES["no rule"].limits())


@pytest.mark.parametrize("name", CASES)
def test_what_is_finished_costs_nothing(name: str) -> None:
    for search in (Greedy(), Beam(width=3, n_best=3)):
        step, state, fixed = table_step(3)
        rows: list[int] = []

        def counting(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
            rows.append(len(tokens))  # noqa: B023
            return step(tokens, state, fixed)  # noqa: B023

        found = search(counting, state, fixed, CASES[name].limits())
        for position, count in enumerate(rows):
            going = [sum(len(h.tokens) > position for h in row) for row in found]
            assert count <= max(going) * sum(number > 0 for number in going)


def test_the_state_is_left_alone_while_the_order_stays() -> None:
    step, state, fixed = table_step(0)
    seen: list[bool] = []

    def remembering(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        seen.append(bool(made) and state is made[-1])
        logits, state = step(tokens, state, fixed)
        made.append(state)
        return logits, state

    made: list[Tensor] = []
    limits = Limits(START, END, torch.tensor([4, 4, 4]), banned=(START, END))
    Beam(width=1)(remembering, state, fixed, limits)
    assert seen == [False, True, True, True]


def test_n_best_is_sorted_and_different() -> None:
    for row in Beam(width=4, n_best=4)(*table_step(0), CASES["no rule"].limits()):
        assert len({hypothesis.tokens for hypothesis in row}) == 4
        assert [h.score for h in row] == sorted((h.score for h in row), reverse=True)


def test_n_best_needs_room() -> None:
    with pytest.raises(SearchError, match="got 5 of 4"):
        Beam(width=4, n_best=5)


@pytest.mark.parametrize("vocabulary", [5, 64, 65, 200, 640, 641, 1000, 1024])
@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_the_largest_are_found_in_blocks(vocabulary: int, count: int) -> None:
    scores = torch.randn(7, vocabulary, generator=torch.Generator().manual_seed(vocabulary))
    scores[1, 2:] = -torch.inf
    scores[2, :-1] = -torch.inf
    values, places = top(scores, count)
    torch.testing.assert_close(values, scores.topk(count, dim=1).values)
    torch.testing.assert_close(scores.gather(1, places), values)


def test_an_ensemble_averages_probabilities() -> None:
    def say(*probabilities: float) -> Any:
        return lambda tokens, state, fixed: (torch.tensor([probabilities]).log() + 3, state)

    step = average([say(0.5, 0.4, 0.1), say(0.1, 0.4, 0.5)])
    logits, _ = step(torch.tensor([0]), (None, None), (None, None))
    torch.testing.assert_close(logits.exp(), torch.tensor([[0.3, 0.4, 0.3]]))


@pytest.mark.parametrize("name", CASES)
def test_a_wide_beam_of_an_ensemble_is_exhaustive(name: str) -> None:
    (one, state, fixed), (two, _, _) = table_step(0), table_step(1)
    step, states, fixeds = average([one, two]), (state, state), (fixed, fixed)
    found = Beam(width=200, n_best=200, length_penalty=0.0)(step, states, fixeds, CASES[name].limits())
    for source, hypotheses in enumerate(found):
        outputs = list_outputs(step, states, fixeds, source, CASES[name])
        assert [h.tokens for h in hypotheses] == sorted(outputs, key=lambda tokens: -outputs[tokens])


def test_a_model_twice_is_that_model() -> None:
    step, state, fixed = table_step(0)
    for search in (Greedy(), Beam(width=3, n_best=3), Sample(n_best=2)):
        alone = search(step, state, fixed, CASES["no rule"].limits())
        twice = search(average([step, step]), (state, state), (fixed, fixed), CASES["no rule"].limits())
        assert tokens_of(alone) == tokens_of(twice)


def test_something_is_always_drawn() -> None:
    probabilities = torch.tensor([[0.0, 0.7, 0.3]])
    assert draw(probabilities, torch.tensor([1.0])).tolist() == [2]


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
    one, two, other = (Sample(n_best=5, seed=s)(step, state, fixed, CASES["no rule"].limits()) for s in (1, 1, 2))
    assert one == two
    assert one != other


def test_each_output_of_a_source_is_another_draw() -> None:
    step, state, fixed = table_step(2)
    limits = CASES["no rule"].limits()
    found = Sample(n_best=300, temperature=0.7)(step, state, fixed, limits)
    logits, _ = step(torch.full((SOURCES,), START), state, fixed)
    for source, hypotheses in enumerate(found):
        expected = logits[source].log_softmax(dim=0)
        expected[START] = -torch.inf
        firsts = torch.bincount(torch.tensor([each.tokens[0] for each in hypotheses]), minlength=4)
        torch.testing.assert_close(firsts / 300, (expected / 0.7).softmax(dim=0), atol=0.09, rtol=0)
        assert [each.score for each in hypotheses] == sorted((each.score for each in hypotheses), reverse=True)


def test_neighbouring_seeds_share_no_draw() -> None:
    def even(tokens: Tensor, state: Tensor, fixed: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros(len(tokens), 50), state

    limits = Limits(START, END, torch.tensor([8]), banned=(START, END))
    drawn = [Sample(n_best=4, seed=seed)(even, torch.zeros(1), torch.zeros(1), limits)[0] for seed in range(4)]
    assert len({each.tokens for hypotheses in drawn for each in hypotheses}) == 16
