"""Bounding boxes: where things are in an image."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """Is a rectangle in shares (0 to 1) of the image's width and height, counted from its upper left corner.

    Args:
        left: the distance of its left side from the image's left side.
        top: the distance of its upper side from the image's upper side.
        right: the distance of its right side from the image's left side.
        bottom: the distance of its lower side from the image's upper side.
    """

    left: float
    top: float
    right: float
    bottom: float

    def widen(self, margin: float) -> "Box":
        """Return the box with a margin on every side, as far as the image goes.

        Args:
            margin: the width of the margin, as a share of the image's width and height.
        """
        return Box(
            max(self.left - margin, 0.0),
            max(self.top - margin, 0.0),
            min(self.right + margin, 1.0),
            min(self.bottom + margin, 1.0),
        )


@dataclass(frozen=True)
class NamedBox:
    """Is a thing in an image, with the words that name it.

    Args:
        box: where the thing is.
        words: the words that name it together, in the order of a sentence, such as its colour and its noun.
    """

    box: Box
    words: tuple[str, ...]
