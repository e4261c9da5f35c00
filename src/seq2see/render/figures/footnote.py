"""The notes below a figure: what its signs mean, and what attention is."""

import textwrap

from matplotlib.figure import Figure

from seq2see.render.colours import MUTED

SIZE = 7.0  # points
LETTERS = 19.5  # of this size in an inch, on average


def wrap_notes(width: float, *notes: str) -> list[str]:
    """Return notes as lines that fit into a figure, each note on lines of its own.

    Args:
        width: the width of the figure in inches.
        *notes: the notes; empty ones are left out.
    """
    return [line for note in notes for line in textwrap.wrap(note, int(width * LETTERS))]


def write_footnote(figure: Figure, *notes: str) -> None:
    """Write notes below a figure, each on lines of its own that are as wide as the figure.

    Args:
        figure: the figure.
        *notes: the notes; empty ones are left out.
    """
    lines = wrap_notes(figure.get_figwidth(), *notes)
    if lines:
        label = figure.supxlabel("\n".join(lines), fontsize=SIZE, color=MUTED, x=0.01, ha="left")
        label.set_parse_math(False)
