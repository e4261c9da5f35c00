"""The pointing game: images of a few cells, where a finger can follow."""

import numpy as np
import pytest

from seq2see.core.box import Box, NamedBox
from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.metrics.pointing import find_hits, find_mentions, point, score_pointing

CIRCLE = NamedBox(Box(0.05, 0.3, 0.2, 0.45), ("red", "circle"))
SQUARE = NamedBox(Box(0.55, 0.55, 0.95, 0.7), ("blue", "square"))
TEXT = "a red circle left of a blue square"


def cut(text: str) -> list[Token]:
    """Pieces of at most four characters, so that words are cut into tokens, as subwords are."""
    return [Token(text[start : start + 4], start, min(start + 4, len(text))) for start in range(0, len(text), 4)]


def test_a_cell_hits_when_its_centre_is_in_the_box_grown_by_half_a_cell() -> None:
    # 2 x 4 cells: centres at 1/8, 3/8, 5/8, 7/8 across and 1/4, 3/4 down, half a cell 1/8 across and 1/4 down
    assert find_hits(Box(0.05, 0.3, 0.2, 0.45), (2, 4)).reshape(2, 4).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert find_hits(Box(0.55, 0.55, 0.95, 0.7), (2, 4)).reshape(2, 4).tolist() == [[0, 0, 0, 0], [0, 0, 1, 1]]
    # a box that ends where cells meet touches both
    assert find_hits(Box(0.05, 0.3, 0.25, 0.5), (2, 4)).reshape(2, 4).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_words_name_a_thing_only_together() -> None:
    found = find_mentions(TEXT, [CIRCLE, SQUARE])
    assert [(mention.word, mention.thing) for mention in found] == [
        ("red", CIRCLE),
        ("circle", CIRCLE),
        ("blue", SQUARE),
        ("square", SQUARE),
    ]
    assert all(TEXT[slice(*mention.span)] == mention.word for mention in found)
    assert find_mentions("a blue circle above a redcircle", [CIRCLE, SQUARE]) == []
    assert find_mentions("colored circles, bored circle, red circlet", [CIRCLE]) == []


def test_each_word_is_judged_by_the_peak_of_its_tokens() -> None:
    tokens, mentions = cut(TEXT), find_mentions(TEXT, [CIRCLE, SQUARE])
    weights = np.full((len(tokens), 8), 0.05)
    weights[:, 0] = 0.65  # always the upper left cell: on the circle, never on the square
    looks = point(weights, grid=(2, 4), tokens=tokens, mentions=mentions)
    assert [(look.word, look.hit) for look in looks] == [("red", 1), ("circle", 1), ("blue", 0), ("square", 0)]
    weights[5:7, 6] = 0.9  # the tokens " a b" and "lue "
    looks = point(weights, grid=(2, 4), tokens=tokens, mentions=mentions)
    assert [look.hit for look in looks] == [1, 1, 1, 0]
    found = {metric.name: metric for metric in score_pointing(looks, grid=(2, 4))}
    assert found["pointing"].value == 75
    # of eight cells one hits the circle and two the square; of the four in the middle none and one
    assert found["pointing_chance"].value == pytest.approx(100 * (1 / 8 + 2 / 8) / 2)
    assert found["pointing_centre"].value == pytest.approx(100 * (0 + 1 / 4) / 2)
    assert "n:4|grid:2x4|rule:centre-in-box-grown-by-half-a-cell" in found["pointing"].signature


def test_even_weights_score_as_blind_guessing_does() -> None:
    tokens = cut(TEXT)
    looks = point(
        np.full((len(tokens), 35), 1 / 35), grid=(5, 7), tokens=tokens, mentions=find_mentions(TEXT, [CIRCLE, SQUARE])
    )
    hit, chance, centre = score_pointing(looks, grid=(5, 7))
    assert hit.value == pytest.approx(chance.value)
    assert centre.value != chance.value


def test_weights_of_another_output_and_outputs_that_name_nothing_are_refused() -> None:
    with pytest.raises(DataError, match=r"must be 9 tokens by 2 x 4 cells; got \(8, 8\)"):
        point(np.ones((8, 8)), grid=(2, 4), tokens=cut(TEXT), mentions=[])
    with pytest.raises(DataError, match="at least one word that names a thing"):
        score_pointing([], grid=(2, 4))


def test_a_word_looks_with_the_mean_of_its_own_tokens_alone() -> None:
    text = "a red circle"
    tokens = [Token("a ", 0, 2), Token("re", 2, 4), Token("d", 4, 5), Token(" ", 5, 6), Token("circle", 6, 12)]
    weights = np.zeros((5, 8))
    weights[[0, 3], 7] = 1  # what stands beside the word looks elsewhere
    weights[1, :3] = 0.5, 0.4, 0.1  # of "re" alone the first cell is the largest
    weights[2, :3] = 0.0, 0.4, 0.6
    weights[4, 0] = 1
    mentions = find_mentions(text, [NamedBox(Box(0.3, 0.1, 0.4, 0.2), ("red", "circle"))])  # the second cell
    looks = point(weights, grid=(2, 4), tokens=tokens, mentions=mentions)
    assert [(look.word, look.hit) for look in looks] == [("red", 1), ("circle", 0)]  # the mean is 0.25, 0.4, 0.35


@pytest.mark.parametrize("text", ["A Red CIRCLE", "red, circle", "a red-circle", "red\ncircle"])
def test_words_are_found_in_capitals_and_with_marks_between(text: str) -> None:
    assert [mention.word.lower() for mention in find_mentions(text, [CIRCLE])] == ["red", "circle"]
