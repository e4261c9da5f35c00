"""Each rule by hand, and the searches that a configuration and decoding options give together."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seq2see.core.errors import ConfigError, SearchError
from seq2see.search.beam import Beam
from seq2see.search.factory import choose_rules, choose_search, read_search
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Limits
from seq2see.search.options import DecodeOptions
from seq2see.search.rules import Ban, MinLength, NewWord, NoRepeat, Rule, Rules
from seq2see.search.sample import Sample

PIECES = ("", "", "b", "a", "d", "ba", "ad", "bad", "-")


def forbidden(rule: Rule, *history: list[int], size: int = 9) -> list[set[int]]:
    """The tokens a rule leaves out, for each history."""
    logprobs = torch.zeros(len(history), size)
    rule(logprobs, torch.tensor(history, dtype=torch.long).reshape(len(history), -1), torch.arange(len(history)))
    return [set(row.isinf().nonzero().flatten().tolist()) for row in logprobs]


def test_min_length() -> None:
    rule = MinLength(2, end=1)
    assert forbidden(rule, []) == forbidden(rule, [5]) == [{1}]
    assert forbidden(rule, [5, 5]) == [set()]


def test_no_token_and_no_three_tokens_twice() -> None:
    assert forbidden(NoRepeat(1), [5, 6, 5]) == [{5, 6}]
    assert forbidden(NoRepeat(3), [2, 3, 4, 2, 3], [2, 3, 4, 3, 2], [2, 3, 2, 3, 2]) == [{4}, set(), {3}]
    assert forbidden(NoRepeat(3), [2, 3]) == forbidden(NoRepeat(1), []) == [set()]


def test_a_banned_word_is_banned_however_it_is_cut() -> None:
    rule = Ban(["bad"], PIECES)
    assert forbidden(rule, []) == [{7}]
    assert forbidden(rule, [8, 2], [8, 5], [2, 3], [5, 2]) == [{7, 6}, {7, 4}, {7, 4}, {7, 6}]
    assert forbidden(rule, [3, 8], [6, 8], [2, 2]) == [{7}, {7}, {7, 6}]
    assert forbidden(rule, [2, 1, 3]) == [{7}]  # a mark stands between the letters


def test_a_banned_word_is_banned_with_marks_around_it() -> None:
    pieces = ("", "", "dog", "dog.", "(dog", "dogs", "do", "g,", "(do", "g", "go", "dog\u0301")
    rule = Ban(["dog"], pieces)
    assert forbidden(rule, [], size=12) == [{2, 3, 4}]
    assert forbidden(rule, [6], [8], [4], size=12) == [{2, 3, 4, 7, 9}, {2, 3, 4, 7, 9}, {2, 3, 4}]


def test_banned_words_that_cannot_be_spelled_do_no_harm() -> None:
    assert forbidden(Ban(["xyz", "é"], PIECES), [], size=9) == [set()]


def test_a_new_word_begins_at_its_place() -> None:
    begins = torch.tensor([False, True, True, False])
    rule = NewWord(torch.tensor([1, -1, 2]), begins)
    assert forbidden(rule, [2], [2], [2], size=4) == [{0, 3}, set(), set()]


def ask(limits: Limits, history: list[list[int]], logits: Tensor) -> Tensor:
    rows = torch.tensor(history, dtype=torch.long).reshape(len(history), -1)
    return limits.logprobs(logits, rows, torch.arange(len(history)))


def test_what_may_come_keeps_its_probability() -> None:
    logits = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))
    before = logits.clone()
    limits = Limits(0, 1, torch.tensor([5]), banned=(0,), rules=[NoRepeat(1)])
    allowed = ask(limits, [[3]], logits)
    torch.testing.assert_close(allowed[0, 1:3], logits.log_softmax(dim=-1)[0, 1:3])
    assert allowed[0, [0, 3]].isinf().all()
    torch.testing.assert_close(logits, before)


def test_where_nothing_is_left_the_end_may_come() -> None:
    logits = torch.zeros(1, 4)
    limits = Limits(0, 1, torch.tensor([5]), banned=(0,), rules=[NoRepeat(1), MinLength(4, 1)])
    torch.testing.assert_close(ask(limits, [[2, 3]], logits)[0].exp(), torch.tensor([0, 0.25, 0, 0]))


def test_a_prefix_beats_the_rules_and_keeps_the_models_probabilities() -> None:
    logits = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log().expand(2, -1)
    limits = Limits(
        0,
        1,
        torch.tensor([5, 5]),
        banned=(0,),
        rules=[Ban(["b"], ("", "", "a", "b"))],
        prefixes=torch.tensor([[3], [-1]]),
    )
    first = ask(limits, [[], []], logits).exp()
    torch.testing.assert_close(first, torch.tensor([[0, 0, 0, 0.1], [0, 0.3, 0.2, 0]]))
    torch.testing.assert_close(ask(limits, [[3], [2]], logits).exp(), torch.tensor([[0, 0.3, 0.2, 0]] * 2))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min_length": 6, "max_length": 5}, "min_length must be at most max_length; got 6 and 5"),
        ({"min_length": -1}, "min_length must be at least 0; got -1"),
        ({"max_length": 0}, "max_length must be at least 1; got 0"),
        ({"ban": "word"}, "ban must be a list of words"),
        ({"ban": ["", "x"]}, "none of them blank"),
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SearchError, match=sentence):
        Rules(**options)


def test_rules_stand_among_the_options_of_any_search() -> None:
    for kind in ("greedy", "beam", "sample"):
        search, rules = read_search({"kind": kind, "no_repeat": 3, "ban": ["a:b"], "max_length": 9})
        assert rules == Rules(no_repeat=3, ban=["a:b"], max_length=9)
        assert (search.kind, search.options) == (kind, {})
    with pytest.raises(ConfigError, match="has no option 'no_repaet'; did you mean 'no_repeat'"):
        read_search({"kind": "beam", "no_repaet": 3})
    with pytest.raises(ConfigError, match="no_repeat must be a valid integer"):
        read_search({"kind": "beam", "no_repeat": "three"})


def test_options_change_the_configured_search() -> None:
    configured = {"kind": "beam", "width": 3, "length_penalty": 0.5, "no_repeat": 2}

    def choose(spec: Any, **options: Any) -> Any:
        return vars(choose_search(spec, DecodeOptions(**options)))

    assert choose(configured) == vars(Beam(width=3, length_penalty=0.5))
    assert choose(configured, n_best=4) == vars(Beam(width=4, length_penalty=0.5, n_best=4))
    assert choose(configured, length_penalty=0.0) == vars(Beam(width=3, length_penalty=0.0))
    wide = choose(configured, beam=7, coverage_penalty=0.2)
    assert wide == vars(Beam(width=7, length_penalty=0.5, coverage_penalty=0.2))
    assert isinstance(choose_search("greedy"), Greedy)
    assert choose("greedy", n_best=2) == vars(Beam(width=2, n_best=2))
    assert choose("beam", length_penalty=0.5) == vars(Beam(length_penalty=0.5))  # as wide as one without an option
    assert choose({"kind": "sample", "seed": 3}, n_best=2) == vars(Sample(seed=3, n_best=2))
    assert choose({"kind": "sample", "seed": 3}, temperature=0.5) == vars(Sample(seed=3, temperature=0.5))
    assert choose(configured, top_k=4) == vars(Sample(top_k=4))
    with pytest.raises(SearchError, match="length_penalty must go with a beam; got the search greedy"):
        choose("greedy", length_penalty=0.5)
    with pytest.raises(SearchError, match="mbr_power must go with a beam; got the search greedy"):
        choose("greedy", mbr_power=1.5)
    with pytest.raises(SearchError, match="seed must go with sampling; got beam and mbr_power of a beam as well"):
        choose(configured, seed=1, beam=2, mbr_power=1.0)


def test_options_put_minimum_bayes_risk_around_a_beam_or_take_it_away() -> None:
    beam = {"kind": "beam", "width": 4, "length_penalty": 0.5}
    configured = {"kind": "mbr", "search": beam, "power": 2.0, "samples": 8, "precision": 0.7, "no_repeat": 3}

    def choose(spec: Any, **options: Any) -> tuple[Any, Any]:
        search: Any = choose_search(spec, DecodeOptions(**options))
        outer = (search.power, search.samples, search.precision, search.n_best)
        return outer, vars(search.search)

    plain = vars(Beam(width=4, length_penalty=0.5))
    assert choose(configured) == ((2.0, 8, 0.7, 1), plain)
    assert choose(configured, mbr_power=1.5, mbr_samples=0) == ((1.5, 0, 0.7, 1), plain)
    assert choose(configured, n_best=6) == ((2.0, 8, 0.7, 6), vars(Beam(width=6, length_penalty=0.5)))
    assert choose(configured, beam=2) == ((2.0, 8, 0.7, 1), vars(Beam(width=2, length_penalty=0.5)))
    assert choose(beam, mbr_power=1.5) == ((1.5, 0, 0.5, 1), plain)
    assert choose("greedy", beam=4, mbr_power=1.0, mbr_samples=3) == ((1.0, 3, 0.5, 1), vars(Beam(width=4)))
    assert vars(choose_search(configured, DecodeOptions(mbr_power=0.0))) == plain
    with pytest.raises(SearchError, match="mbr_samples must go with minimum Bayes risk decoding; got none"):
        choose_search(beam, DecodeOptions(mbr_samples=3))
    assert read_search(configured)[1] == Rules(no_repeat=3)


def test_options_change_the_configured_rules() -> None:
    rules = Rules(no_repeat=3, ban=["a"], max_length=9)
    assert choose_rules(rules, DecodeOptions(min_length=2)) == Rules(2, 9, 3, ["a"])
    assert choose_rules(rules, DecodeOptions(no_repeat=0, ban=("b",))) == Rules(no_repeat=0, ban=("b",), max_length=9)
