"""Numbers about attention that can be computed by hand, and notes on heads that do not read."""

from collections.abc import Iterable

import numpy as np
import pytest

from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.head_alignment import Units
from seq2see.explain.statistics import AttentionStatistics, StatisticsAccumulator, measure_entropy

WORDS: Units = ("words", "words")


def measure(traces: Iterable[AttentionTrace], units: Units) -> AttentionStatistics | None:
    """The measures of many outputs."""
    statistics = StatisticsAccumulator(units)
    for trace in traces:
        statistics.add(trace)
    return statistics.result()


def make(*heads: list[list[float]], name: str = "attend") -> AttentionTrace:
    """A trace of one-letter words; the last source and target tokens are end marks."""
    weights = np.array(heads, dtype=np.float32)
    _, rows, columns = weights.shape

    def cut(count: int) -> tuple[str, tuple[Token, ...]]:
        text = " ".join("x" * (count - 1))
        words = (Token("x", 2 * place, 2 * place + 1) for place in range(count - 1))
        return text, (*words, Token("</s>", len(text), len(text)))

    (source, sources), (target, targets) = cut(columns), cut(rows)
    return AttentionTrace(source, target, sources, targets, (AttentionMap(name, weights),))


@pytest.mark.parametrize("length", [2, 3, 8, 100])
def test_entropy_of_a_uniform_row_is_the_logarithm(length: int) -> None:
    assert measure_entropy(np.full((1, length), 1 / length)) == pytest.approx(np.log2(length))


def test_entropy_by_hand() -> None:
    np.testing.assert_allclose(measure_entropy(np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]])), [0, 1, 1.5])


def test_a_uniform_map() -> None:
    measures = measure([make([[0.25] * 4] * 3)], WORDS)
    assert measures is not None
    assert (measures.map, measures.entropy, measures.normalised_entropy, measures.max_weight) == ("attend", 2, 1, 0.25)
    # two target words give each of three source words 2 * 0.25
    assert measures.coverage == 1
    assert measures.coverage_error == pytest.approx(0.5)


def test_a_diagonal_map() -> None:
    measures = measure([make(np.eye(4).tolist())], WORDS)
    assert measures is not None
    assert (measures.entropy, measures.normalised_entropy, measures.max_weight) == (0, 0, 1)
    assert (measures.coverage, measures.coverage_error) == (1, 0)


def test_overlooked_words_are_not_covered() -> None:
    # both target words look at the first of four source words
    rows = [[1.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0]]
    measures = measure([make(rows)], WORDS)
    assert measures is not None
    assert measures.coverage == 0.25
    assert measures.coverage_error == pytest.approx((1 + 1 + 1 + 1) / 4)


def test_heads_are_averaged() -> None:
    measures = measure([make([[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2)], WORDS)
    assert measures is not None
    assert measures.entropy == pytest.approx(0.5)
    assert measures.max_weight == pytest.approx(0.75)


def test_outputs_count_by_their_tokens() -> None:
    short, long = make([[1.0, 0.0]]), make([[0.5, 0.5]] * 3)
    measures = measure([short, long], WORDS)
    assert measures is not None
    assert measures.entropy == pytest.approx(3 / 4)


def test_collapsed_heads_are_noted() -> None:
    uniform = [[0.2] * 5] * 6
    last = [[0.0, 0.1, 0.0, 0.0, 0.9]] * 6
    reading = np.eye(6)[:, :5].clip(0.05).tolist()
    traces = [make(uniform, reading, last) for _ in range(8)]
    measures = measure(traces, WORDS)
    assert measures is not None
    assert measures.notes == (
        "the attention attend (head 1) is nearly uniform: all source tokens get nearly the same weight.",
        "the attention attend (head 3) is stuck: token 5 of the source nearly always has the largest weight.",
    )


def test_the_end_of_sources_of_any_length_is_one_place() -> None:
    ends = [make([[0.0] * (length - 1) + [1.0]] * 5) for length in (4, 5, 6, 7)]
    measures = measure(ends, WORDS)
    assert measures is not None
    (note,) = measures.notes
    assert note == "the attention attend is stuck: token 1 from the end nearly always has the largest weight."


def test_a_few_steps_are_not_judged() -> None:
    measures = measure([make([[0.2] * 5] * 6)], WORDS)
    assert measures is not None
    assert measures.notes == ()


def test_no_outputs_have_no_measures() -> None:
    assert measure([], WORDS) is None
