"""Whether classifiers differ: McNemar's test by hand and by counting all outcomes, and a bootstrap of F1."""

from itertools import product

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.metrics import significance
from seq2see.metrics.label_significance import compare_classifiers, draw
from seq2see.metrics.labels import multi_label_f1, score_labels
from seq2see.metrics.mcnemar import McNemar, mcnemar

NAMES = ["a", "b", "c"]


def choose(truth: list[str], skill: float, *, seed: int) -> list[str]:
    """Labels that are right with a probability of `skill`."""
    random = np.random.default_rng(seed)
    return [label if random.random() < skill else NAMES[random.integers(3)] for label in truth]


def make_truth(count: int) -> list[str]:
    return np.random.default_rng(0).choice(NAMES, size=count, p=[0.7, 0.2, 0.1]).tolist()


def as_sets(labels: list[str]) -> list[list[str]]:
    return [[label] if label else [] for label in labels]


def tell(b: int, c: int, *, both: int = 4, none: int = 3) -> McNemar:
    baseline = [True] * b + [False] * c + [True] * both + [False] * none
    other = [False] * b + [True] * c + [True] * both + [False] * none
    return mcnemar(baseline, other)


def test_mcnemar_by_hand() -> None:
    # b = 1, c = 5: 2 (binom(6, 0) + binom(6, 1)) / 2^6 = 2 * 7 / 64
    assert tell(1, 5) == McNemar(1, 5, 14 / 64)
    assert tell(5, 1) == McNemar(5, 1, 14 / 64)
    assert tell(0, 10).p_value == 2 / 1024
    assert tell(3, 3).p_value == 1  # 2 (1 + 6 + 15 + 20) / 64 is more than 1
    assert tell(0, 0) == McNemar(0, 0, 1.0)


def test_mcnemar_counts_all_outcomes_of_fair_coins() -> None:
    for b, c in [(2, 6), (4, 5), (1, 9)]:
        tosses = [sum(coins) for coins in product([0, 1], repeat=b + c)]
        extreme = sum(abs(heads - (b + c) / 2) >= abs(c - b) / 2 for heads in tosses)
        assert tell(b, c).p_value == pytest.approx(extreme / len(tosses))


def test_mcnemar_of_many_sources_is_exact() -> None:
    # as the normal distribution has it: (|b - c| - 1) / sqrt(b + c) = 1.96 standard deviations
    assert tell(5000 - 98, 5000 + 99).p_value == pytest.approx(0.05, rel=0.03)
    with pytest.raises(DataError, match="got 1 answers and 2 references"):
        mcnemar([True, False], [True])


def test_scores_are_those_of_an_evaluation() -> None:
    truth = make_truth(60)
    chosen = ["", *choose(truth, 0.8, seed=1)[1:]]
    (tested,) = compare_classifiers({"one": as_sets(chosen)}, as_sets(truth), many=False).values()
    expected = score_labels(chosen, truth)
    assert [(each.metric.name, each.metric.value) for each in tested] == [(m.name, m.value) for m in expected]
    assert [each.p_value for each in tested] == [None, None]
    assert tested[0].metric.signature.endswith("|test:mcnemar-exact|bs:1000|seed:12345")
    assert tested[1].metric.signature.endswith("|test:bootstrap|bs:1000|seed:12345")


def test_a_difference_is_found_and_equal_labels_are_none() -> None:
    truth = make_truth(300)
    systems = {
        "first": choose(truth, 0.5, seed=1),
        "same": choose(truth, 0.5, seed=1),
        "good": choose(truth, 0.9, seed=2),
    }
    tested = compare_classifiers({name: as_sets(each) for name, each in systems.items()}, as_sets(truth), many=False)
    assert [each.p_value for each in tested["same"]] == [1, 1]
    assert tested["same"][0].mcnemar == McNemar(0, 0, 1.0)
    found = tested["good"][0].mcnemar
    assert found is not None
    right = {name: [o == r for o, r in zip(each, truth, strict=True)] for name, each in systems.items()}
    assert found == mcnemar(right["first"], right["good"])
    assert found.c > found.b
    assert tested["good"][0].p_value == found.p_value < 1e-6
    assert tested["good"][1].p_value == pytest.approx(1 / 1001)
    assert tested["good"][1].mcnemar is None


def test_classifiers_of_one_skill_are_rarely_told_apart() -> None:
    """Of 60 comparisons without a difference, about three have a p-value below 0.05, and half one below 0.5."""
    found = []
    for seed in range(60):
        truth = np.random.default_rng(seed).choice(NAMES, size=150).tolist()
        systems = {name: as_sets(choose(truth, 0.6, seed=1000 * seed + place)) for place, name in enumerate("xy")}
        found.append(compare_classifiers(systems, as_sets(truth), many=False)["y"][1].p_value)
    assert sum(p < 0.05 for p in found) <= 8
    assert 18 <= sum(p < 0.5 for p in found) <= 42


def test_the_interval_of_accuracy_is_the_binomial_one() -> None:
    truth = ["a", "b"] * 200
    chosen = [*truth[:200], *["c"] * 200]
    (tested,) = compare_classifiers({"half": as_sets(chosen)}, as_sets(truth), many=False).values()
    assert tested[0].interval == pytest.approx(196 * (0.5 * 0.5 / 400) ** 0.5, rel=0.1)


def test_sets_of_labels_are_right_as_a_whole() -> None:
    truth = [{"a", "b"}, {"a"}, {"b"}, {"c"}] * 20
    systems = {"some": [{"a"}, {"a"}, {"b"}, set[str]()] * 20, "all": [{"b", "a"}, {"a"}, {"b"}, {"c", "a"}] * 20}
    tested = compare_classifiers(systems, truth, many=True)
    assert [each.metric.name for each in tested["all"]] == ["accuracy", "micro_f1", "macro_f1"]
    assert [each.metric.value for each in tested["all"]] == [
        75,
        *(m.value for m in multi_label_f1(systems["all"], truth)),
    ]
    assert tested["all"][0].mcnemar == McNemar(0, 20, 2 / 2**20)
    assert tested["all"][1].p_value is not None
    assert tested["all"][1].p_value < 0.01


def test_what_is_drawn_has_the_mean_of_the_metrics() -> None:
    truth = make_truth(200)
    chosen = choose(truth, 0.7, seed=5)
    drawn, values = draw(as_sets(chosen), as_sets(truth)), {m.name: m.value for m in score_labels(chosen, truth)}
    assert drawn.values["accuracy"].mean() == pytest.approx(values["accuracy"], abs=0.5)
    assert drawn.values["macro_f1"].mean() == pytest.approx(values["macro_f1"], abs=1)
    assert drawn.values["micro_f1"] == pytest.approx(drawn.values["accuracy"])  # of one label a source


def test_large_sets_are_drawn_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.metrics.label_significance.MAX_DRAWN_SENTENCES", 200)
    assert len(draw(as_sets(NAMES * 10), as_sets(NAMES * 10)).values["accuracy"]) == 6
    assert significance.MAX_DRAWN_SENTENCES > 200
    with pytest.raises(DataError, match="at least one system"):
        compare_classifiers({}, [["a"]], many=False)
