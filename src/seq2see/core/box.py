"""Bounding boxes: where things are in an image."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """Is a rectangle in shares (0 to 1) of the image's width and height, counted from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class NamedBox:
    """Is a thing in an image: its box, and the words that name it together (its colour, its noun)."""

    box: Box
    words: tuple[str, ...]
