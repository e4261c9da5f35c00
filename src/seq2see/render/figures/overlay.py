"""Overlays: an image once for each word, bright where the word attends (Xu et al. 2015, arXiv:1502.03044)."""

import io
import math
from pathlib import Path

import numpy as np
from jaxtyping import Float32
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from seq2see.core.errors import Seq2SeeError
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.image_grid import ImageArray
from seq2see.render.colours import DIM, VEIL
from seq2see.render.figures.fonts import choose_font, choose_fonts, explain_missing
from seq2see.render.figures.footnote import write_footnote
from seq2see.render.figures.notebook_figure import NotebookFigure
from seq2see.render.panel import list_panels
from seq2see.render.token_label import show_text
from seq2see.system.files import write_atomic

COLUMNS = 6  # images in a row of a figure
SIDE = 320  # pixels: width and height of the image in an animation
SECONDS = 0.9  # that an animation shows each word

Weights = Float32[np.ndarray, "_ _"]


def draw_overlays(
    trace: AttentionTrace, *, name: str | None = None, heads: bool = False, cells: bool = False
) -> Figure:
    """Draw the image, then one overlay for each word, then one of the probability drops if they were measured.

    Args:
        trace: a trace with an image, and with a grid if it has maps.
        name: the name of the maps to draw, or a part of it, or `all`; None draws the last cross-attention map.
        heads: whether to draw each head instead of the mean over heads.
        cells: whether to show the cells of the grid as squares instead of smoothing them.

    Raises:
        Seq2SeeError: the source is not an image, or no chosen map attends to the cells of the image.
    """
    frames = list_frames(trace, name=name, heads=heads) if trace.maps else []
    if trace.regions is not None:
        drops = np.array([max(each.drop, 0.0) for each in trace.drops], dtype=np.float32)
        needed = ("probability drop\n(leave-one-out)", drops.reshape(trace.regions))
        frames = [needed, *frames] if trace.drops_first else [*frames, needed]
    columns = min(COLUMNS, len(frames) + 1)
    rows = math.ceil((len(frames) + 1) / columns)
    figure = NotebookFigure(figsize=(2.1 * columns, 2.35 * rows), layout="compressed")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    fonts = choose_fonts(" ".join(title.replace("\n", " ") for title, _ in frames), base="DejaVu Sans")
    for each in axes:
        each.set_axis_off()
    image = _image(trace)
    axes[0].imshow(image)
    for place, (title, weights) in enumerate(frames, 1):
        axes[place].imshow(lay_over(image, weights, cells=cells))
        lines = "\n".join(fonts.spell(line) for line in title.splitlines())
        heading = axes[place].set_title(lines, fontsize=8, family=list(fonts.families))
        heading.set_parse_math(False)
    notes = ["veiled: weight 0", "clear: the largest weight of each figure", explain_missing(fonts)]
    write_footnote(figure, "; ".join(filter(None, notes)), trace.caption)
    return figure


def save_animation(
    trace: AttentionTrace, path: Path | str, *, name: str | None = None, heads: bool = False, cells: bool = False
) -> Path:
    """Write a .gif that shows one overlay after another, each with its word below, and return its path.

    Args:
        trace: a trace with an image and maps over it.
        path: the file; its ending is not checked.
        name: the maps to show, as for `draw_overlays`.
        heads: whether to show each head, as for `draw_overlays`.
        cells: whether to show the cells as squares, as for `draw_overlays`.

    Raises:
        Seq2SeeError: the source is not an image, or no chosen map attends to the cells of the image.
    """
    image = _image(trace)
    frames = [
        _caption(lay_over(image, weights, cells=cells), title)
        for title, weights in list_frames(trace, name=name, heads=heads)
    ]
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=int(1000 * SECONDS), loop=0)
    write_atomic(Path(path), buffer.getvalue())
    return Path(path)


def list_frames(trace: AttentionTrace, *, name: str | None = None, heads: bool = False) -> list[tuple[str, Weights]]:
    """Return one frame for each token of the output, of each chosen map or head.

    Args:
        trace: a trace with a grid, whose columns of weights are cells of the image.
        name: the maps to show, as for `draw_overlays`.
        heads: whether to return frames for each head instead of the mean over heads.

    Returns:
        A title and the weights [rows of the grid, columns of the grid] for each frame. The title is the token with the
        confidence of the model in it and, if several maps or heads are shown, their name in further lines.

    Raises:
        Seq2SeeError: the source is not an image, or no chosen map attends to the cells of the image.
    """
    if trace.grid is None:
        raise Seq2SeeError("an overlay needs an image as source; this run reads texts.")
    cells = trace.grid[0] * trace.grid[1]
    panels = [panel for panel in list_panels(trace, name=name, heads=heads) if panel.weights.shape[1] == cells]
    if not panels:
        raise Seq2SeeError("none of the chosen maps attends to the cells of the image; choose others with --map.")
    chosen = panels if name is not None or heads else panels[-1:]
    return [
        (_title(token, panel.title if len(chosen) > 1 else ""), row.reshape(trace.grid))
        for panel in chosen
        for token, row in zip(panel.rows, panel.weights, strict=True)
    ]


def lay_over(image: ImageArray, weights: Weights, *, cells: bool = False) -> ImageArray:
    """Return the image, dimmed where the weights are small; the area of the largest weight is unchanged.

    Args:
        image: the pixels [y x 3], 0 to 255.
        weights: one weight for each cell, [rows of the grid, columns of the grid]; NaN counts as 0.
        cells: whether to draw each cell as a square instead of smoothing between them.
    """
    largest = float(weights.max())
    shares = np.nan_to_num(weights / largest if largest > 0 else weights, nan=0.0).astype(np.float32)
    height, width = image.shape[:2]
    way = Image.Resampling.NEAREST if cells else Image.Resampling.BICUBIC
    clear = DIM + (1 - DIM) * np.asarray(Image.fromarray(shares).resize((width, height), way)).clip(0, 1)[..., None]
    return (image * clear + np.array(VEIL) * (1 - clear)).round().astype(np.uint8)


def _image(trace: AttentionTrace) -> ImageArray:
    if trace.image is None:
        raise Seq2SeeError("an overlay needs an image as source; this run reads texts.")
    return trace.image


def _title(token: Token, of: str) -> str:
    sure = "" if token.confidence is None else f" {token.confidence:.0%}"
    return "\n".join(line for line in (f"{show_text(token.text)}{sure}", *of.split(", ")) if line)


def _caption(image: ImageArray, title: str) -> Image.Image:
    """Return a frame with its word below."""
    lines = 1 + title.count("\n")
    below = 12 + 22 * lines
    frame = Image.new("RGB", (SIDE, SIDE + below), "white")
    frame.paste(Image.fromarray(image).resize((SIDE, SIDE), Image.Resampling.BICUBIC), (0, 0))
    file, shown = choose_font(title, base="DejaVu Sans")
    font = ImageFont.truetype(file, 18 if lines == 1 else 14)
    place = (SIDE // 2, SIDE + below // 2)
    ImageDraw.Draw(frame).text(place, shown, fill="black", font=font, anchor="mm", align="center")
    return frame
