"""Texts from right to left, with words and numbers of the other direction among them."""

import pytest

from seq2see.render.text_direction import find_direction, find_directions, find_runs, turn_brackets

HEBREW, ARABIC = "שלום", "مرحبا"


@pytest.mark.parametrize(
    ("text", "direction"),
    [("abc", "right"), (HEBREW, "left"), (ARABIC, "left"), (f"12 {HEBREW} a", "left"), ("(a)", "right"), ("1-2", None)],
)
def test_the_first_letter_tells_the_direction(text: str, direction: str | None) -> None:
    assert find_direction(text) == direction


@pytest.mark.parametrize(
    ("words", "main", "found"),
    [
        ([HEBREW, "1", "-", HEBREW], "right", "llll"),  # what has none is as its neighbours are, if they agree
        ([HEBREW, "1", "abc", "2", HEBREW], "left", "llrll"),
        ([HEBREW, "1", "abc", "2", HEBREW], "right", "lrrrl"),
        (["1", HEBREW], "right", "rl"),  # one neighbour alone does not tell
        ([HEBREW, "1"], "right", "lr"),
        (["1", "2"], "left", "ll"),
        ([], "left", ""),
    ],
)
def test_numbers_go_with_their_neighbours(words: list[str], main: str, found: str) -> None:
    names = {"l": "left", "r": "right"}
    assert find_directions(words, main) == [names[letter] for letter in found]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("directions", "main", "runs"),
    [
        ("rllrl", "right", [(1, 3), (4, 5)]),
        ("rllrl", "left", [(0, 1), (3, 4)]),
        ("rr", "left", [(0, 2)]),
        ("ll", "left", []),
        ("", "left", []),
    ],
)
def test_neighbours_in_the_other_direction_are_a_run(directions: str, main: str, runs: list[tuple[int, int]]) -> None:
    names = {"l": "left", "r": "right"}
    found = find_runs([names[letter] for letter in directions], main)  # type: ignore[arg-type, misc]
    assert [(run.start, run.stop) for run in found] == runs


def test_brackets_are_mirrored_in_pairs() -> None:
    assert turn_brackets("(a[b{c<d«e»f>g}h]i)") == ")a]b}c>d»e«f<g{h[i("
