"""Word alignments: merging keeps the weight, links and error rates are those one computes by hand."""

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.core.words import find_words
from seq2see.metrics.alignment import (
    Gold,
    check_links,
    link_words,
    measure_agreement,
    merge_words,
    read_links,
    write_links,
)


def cut(text: str, *places: int) -> list[Token]:
    """Tokens of a text, cut at the given places, with the end mark."""
    spans = zip((0, *places), (*places, len(text)), strict=True)
    return [*(Token(text[a:b], a, b) for a, b in spans), Token("</s>", len(text), len(text))]


def test_source_tokens_are_summed_and_target_tokens_averaged() -> None:
    source, target = "unhappy cat", "chat mal"
    sources, targets = cut(source, 2, 7, 8), cut(target, 2, 4, 5)  # un happy ␣ cat; ch at ␣ mal
    weights = np.array(
        [
            [0.1, 0.1, 0.1, 0.6, 0.1],  # ch
            [0.2, 0.2, 0.0, 0.4, 0.2],  # at
            [0.0, 0.0, 1.0, 0.0, 0.0],  # a space belongs to no word
            [0.5, 0.3, 0.0, 0.1, 0.1],  # mal
            [0.0, 0.0, 0.0, 0.0, 1.0],  # nor does the end mark
        ],
        dtype=np.float32,
    )
    merged = merge_words(weights, (sources, find_words(source, "words")), (targets, find_words(target, "words")))
    np.testing.assert_allclose(merged, [[0.3, 0.5, 0.2], [0.8, 0.1, 0.1]], atol=1e-6)
    assert link_words(merged) == {(1, 0), (0, 1)}
    assert link_words(merged, threshold=0.6) == {(0, 1)}
    assert write_links(link_words(merged)) == "0-1 1-0"


@pytest.mark.parametrize("seed", range(5))
def test_rows_still_sum_to_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    source, target = "ab  c de fgh", "xyz w vu"
    cuts = [sorted(random.choice(range(1, len(text)), size=3, replace=False)) for text in (source, target)]
    sources, targets = cut(source, *map(int, cuts[0])), cut(target, *map(int, cuts[1]))
    weights = random.dirichlet(np.ones(len(sources)), size=len(targets))
    for unit in ("words", "characters"):
        merged = merge_words(weights, (sources, find_words(source, unit)), (targets, find_words(target, unit)))
        np.testing.assert_allclose(merged.sum(axis=1), 1)
        assert (merged >= -1e-12).all()


def test_a_token_over_two_words_is_shared() -> None:
    tokens = [Token("ab c", 0, 4), Token("</s>", 4, 4)]
    merged = merge_words(np.array([[1.0, 0.0]]), (tokens, [(0, 2), (3, 4)]), ([Token("x", 0, 1)], [(0, 1)]))
    np.testing.assert_allclose(merged, [[2 / 3, 1 / 3, 0]])


def test_a_word_without_weight_has_no_link() -> None:
    merged = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [np.nan, np.nan, np.nan]])
    assert link_words(merged) == frozenset()
    assert link_words(np.zeros((0, 3))) == link_words(np.zeros((3, 1))) == frozenset()


def test_a_link_needs_at_least_the_threshold() -> None:
    merged = np.array([[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]])
    for threshold, links in ((0.5, {(0, 0), (1, 1)}), (0.625, {(1, 1)}), (0.75, {(1, 1)}), (0.875, set())):
        assert link_words(merged, threshold=threshold) == links


def test_agreement_by_hand() -> None:
    # A = 4 links, 3 of them possible, 2 of them sure; S = 3, so AER = 1 - (2 + 3) / (4 + 3)
    gold = read_links("0-0 1-1 2-2 3?3 0p3")
    found = frozenset({(0, 0), (1, 1), (3, 3), (2, 0)})
    agreement = measure_agreement([found], [gold])
    assert agreement.aer == pytest.approx(100 * (1 - 5 / 7))
    assert agreement.precision == pytest.approx(75)
    assert agreement.recall == pytest.approx(100 * 2 / 3)
    assert agreement.signature == "aer|n:1|links:4|sure:3|possible:5"


def test_agreement_counts_links_of_all_pairs_together() -> None:
    right, wrong = read_links("0-0 1-1 2-2"), read_links("0-0")
    agreement = measure_agreement([right.sure, frozenset({(5, 5)})], [right, wrong])
    assert agreement.aer == pytest.approx(100 * (1 - 6 / 8))


def test_the_ends_of_the_scale() -> None:
    gold = read_links("0-0 1?1")
    assert measure_agreement([gold.sure], [gold]).aer == 0
    assert measure_agreement([gold.possible], [gold]).aer == 0
    assert measure_agreement([frozenset({(9, 9)})], [gold]).aer == 100
    nothing = measure_agreement([frozenset()], [read_links("")])
    assert (nothing.aer, nothing.precision, nothing.recall) == (0, 100, 100)


def test_links_are_read_as_they_are_written() -> None:
    links = frozenset({(0, 0), (10, 2), (2, 11)})
    assert read_links(write_links(links)) == Gold(links, links)
    assert read_links(" 3?4\t1-2 ") == Gold(frozenset({(1, 2)}), frozenset({(1, 2), (3, 4)}))


@pytest.mark.parametrize("word", ["1", "1-", "a-b", "1:2", "1-2,", "-1-2", "1--2"])
def test_other_links_are_refused(word: str) -> None:
    with pytest.raises(DataError, match="gold, line 7: links must be written 0-1"):
        read_links(f"0-0 {word}", file="gold", line=7)


def test_links_to_missing_words_are_refused() -> None:
    check_links(read_links("1-0"), source=2, target=1)
    with pytest.raises(DataError, match="2 source and 1 target words, counted from 0; got the link 1-1"):
        check_links(read_links("1-1"), source=2, target=1)
    with pytest.raises(DataError, match="got the link 2-0"):
        check_links(read_links("0-0 2?0"), source=2, target=1)
