"""The direction of a text: Hebrew, Arabic and some other scripts are written from right to left."""

from collections.abc import Iterator, Sequence
from typing import Literal
from unicodedata import bidirectional

Direction = Literal["right", "left"]  # towards which side it is written
STRONG: dict[str, Direction] = {"L": "right", "R": "left", "AL": "left"}
BRACKETS = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def find_direction(text: str) -> Direction | None:
    """Return the direction of the first letter that has one; None if the text is of digits and signs alone.

    Args:
        text: the text, in the order in which it is read.
    """
    return next((STRONG[kind] for kind in map(bidirectional, text) if kind in STRONG), None)


def find_directions(words: Sequence[str], main: Direction) -> list[Direction]:
    """Return the direction of each word.

    A word of digits and signs has the direction of the nearest words before and behind it if these agree, else `main`.

    Args:
        words: the words of a line, in the order in which they are read.
        main: the direction of the whole text.
    """
    found = [find_direction(word) for word in words]
    return [each or _agree(found[:place], found[place + 1 :]) or main for place, each in enumerate(found)]


def _agree(before: Sequence[Direction | None], after: Sequence[Direction | None]) -> Direction | None:
    last = next((each for each in reversed(before) if each), None)
    return last if last == next((each for each in after if each), None) else None


def find_runs(directions: Sequence[Direction], main: Direction) -> Iterator[range]:
    """Find the runs of neighbouring words whose direction is not that of the text.

    Args:
        directions: the direction of each word.
        main: the direction of the whole text.

    Yields:
        The range of places of each run, in order.
    """
    start = 0
    for place, each in enumerate([*directions, main]):
        if each == main:
            if place > start:
                yield range(start, place)
            start = place + 1


def turn_brackets(text: str) -> str:
    """Return the text with its brackets mirrored, as they are drawn in a text from right to left.

    Args:
        text: any text; round, square, curly, angle and double angle brackets are mirrored.
    """
    return text.translate(BRACKETS)
