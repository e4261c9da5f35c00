"""The direction of a text: Hebrew, Arabic and some others run from right to left."""

from collections.abc import Iterator, Sequence
from typing import Literal
from unicodedata import bidirectional

Direction = Literal["right", "left"]  # where it runs to
STRONG: dict[str, Direction] = {"L": "right", "R": "left", "AL": "left"}
BRACKETS = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def find_direction(text: str) -> Direction | None:
    """Where a text runs to, by its first letter that says so; figures and signs do not."""
    return next((STRONG[kind] for kind in map(bidirectional, text) if kind in STRONG), None)


def find_directions(words: Sequence[str], main: Direction) -> list[Direction]:
    """Where each word runs to; figures and signs go with the words around them if those agree, or else with all."""
    found = [find_direction(word) for word in words]
    return [each or _agree(found[:place], found[place + 1 :]) or main for place, each in enumerate(found)]


def _agree(before: Sequence[Direction | None], after: Sequence[Direction | None]) -> Direction | None:
    last = next((each for each in reversed(before) if each), None)
    return last if last == next((each for each in after if each), None) else None


def find_runs(directions: Sequence[Direction], main: Direction) -> Iterator[range]:
    """The places of neighbours that run against the rest."""
    start = 0
    for place, each in enumerate([*directions, main]):
        if each == main:
            if place > start:
                yield range(start, place)
            start = place + 1


def turn_brackets(text: str) -> str:
    """Return brackets as they are drawn in a text that runs to the left."""
    return text.translate(BRACKETS)
