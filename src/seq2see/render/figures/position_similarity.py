"""A figure of the similarity of positions, which shows whether a model has learned which of them are neighbours."""

from pathlib import Path

import numpy as np
from jaxtyping import Float32
from matplotlib.figure import Figure

from seq2see.explain.position_cosines import PositionCosines
from seq2see.render.colours import MUTED
from seq2see.render.figures.figure_file import save_figure
from seq2see.render.figures.notebook_figure import NotebookFigure


def draw_positions(cosines: PositionCosines) -> Figure:
    """Draw the cosine of each position with each other (Dosovitskiy et al. 2021, arXiv:2010.11929, figure 7).

    Args:
        cosines: [y x v u] for the patches of an image: the figure has a small square for each patch, at its place; or
            [t s] for the positions of a text: the figure is one matrix.
    """
    grid = cosines.ndim == 4
    figure = NotebookFigure(figsize=(6.4, 5.4), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(_tile(cosines) if grid else cosines, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    sides = cosines.shape[:2]
    if grid:
        steps = [side + 1 for side in cosines.shape[2:]]
        down, across = (
            [n * step + (step - 2) / 2 for n in range(side)] for side, step in zip(sides, steps, strict=True)
        )
        axes.set_yticks(down, [f"{row + 1}" for row in range(sides[0])])
        axes.set_xticks(across, [f"{column + 1}" for column in range(sides[1])])
    axes.set_xlabel("column of a patch" if grid else "place", color=MUTED, fontsize=9)
    axes.set_ylabel("row of a patch" if grid else "place", color=MUTED, fontsize=9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    bar = figure.colorbar(image, ax=axes, label="cosine of positions", shrink=0.8, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    bar.ax.yaxis.label.set(color=MUTED, fontsize=9)
    return figure


def save_positions(cosines: PositionCosines, path: Path) -> Path:
    """Draw the figure into a .png or .svg file and return its path.

    Args:
        cosines: the cosines, as for `draw_positions`.
        path: the file.
    """
    return save_figure(draw_positions(cosines), path)


def _tile(cosines: Float32[np.ndarray, "y x v u"]) -> Float32[np.ndarray, "h w"]:
    """Return one matrix with a small square for each patch at its place, and a line of NaN between the squares."""
    framed = np.pad(cosines, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    rows, columns, height, width = framed.shape
    return framed.transpose(0, 2, 1, 3).reshape(rows * height, columns * width)[:-1, :-1]
