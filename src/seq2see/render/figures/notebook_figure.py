"""A figure that a notebook shows when a cell ends with it."""

import io

from matplotlib.figure import Figure

NOTEBOOK_DPI = 110  # dots per inch on a screen


class NotebookFigure(Figure):
    """A figure that a notebook shows as an image.

    matplotlib itself shows a figure in a notebook only if pyplot made it, or if a line `%matplotlib inline` stands
    before it.
    """

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI, facecolor="white")
        return buffer.getvalue()
