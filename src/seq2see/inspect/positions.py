"""How alike positions are: whether a model has learned which patches, or places of a text, are neighbours."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32
from matplotlib.figure import Figure
from torch import Tensor

from seq2see.core.errors import AttentionError
from seq2see.inspect.colour import MUTED
from seq2see.inspect.picture import save_figure

PLACES = 64  # of a text
Alike = Float32[np.ndarray, "y x v u"] | Float32[np.ndarray, "t s"]


@torch.inference_mode()
def compare_positions(model: Any) -> Alike:
    """The cosine of each position of the encoder with each other: of places of a text, or of cells of a picture."""
    places = _read_places(model.encoder)
    unit = F.normalize(places.flatten(0, -2).float(), dim=-1)
    return np.asarray((unit @ unit.T).reshape(*places.shape[:-1], *places.shape[:-1]).numpy())


def _read_places(encoder: Any) -> Float[Tensor, "... d"]:
    """What an encoder adds to say where something stands: of a picture its `places`, of a text its first ones."""
    if hasattr(encoder, "places"):
        places = encoder.places()
    else:
        position = getattr(encoder, "position", None)
        places = None if position is None else position.first(PLACES)
    if places is None:
        raise AttentionError(
            f"the encoder of this run ({type(encoder).__name__}) has no positions to compare; take one with a "
            "transformer, conv or patches encoder, or a cnn with a position."
        )
    return places


def draw_positions(alike: Alike) -> Figure:
    """Dosovitskiy et al. 2021, figure 7: for each patch, at its own place, how alike its position is to all others."""
    grid = alike.ndim == 4
    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(_tile(alike) if grid else alike, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    sides = alike.shape[:2]
    if grid:
        steps = [side + 1 for side in alike.shape[2:]]
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


def save_positions(model: Any, path: Path) -> Path:
    """The figure as a .png or .svg file."""
    return save_figure(draw_positions(compare_positions(model)), path)


def _tile(alike: Float32[np.ndarray, "y x v u"]) -> Float32[np.ndarray, "h w"]:
    """A picture for each patch, at its place, with a line between them."""
    framed = np.pad(alike, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    rows, columns, height, width = framed.shape
    return framed.transpose(0, 2, 1, 3).reshape(rows * height, columns * width)[:-1, :-1]
