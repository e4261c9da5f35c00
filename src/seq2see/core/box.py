"""Where things are in a picture."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A rectangle as shares of the picture's width and height, from its upper left corner on."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Thing:
    """Something in a picture: where it is, and the words that name it together (its colour, its noun)."""

    box: Box
    words: tuple[str, ...]
