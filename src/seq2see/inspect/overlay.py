"""Attention over a picture, once for each word, as Xu et al. 2015 draw it: clear where the model looked."""

import base64
import io
import math
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from seq2see.core.errors import Seq2SeeError
from seq2see.core.files import write_atomic
from seq2see.core.token import Token
from seq2see.inspect.attention import AttentionTrace, Picture
from seq2see.inspect.colour import DIM, MUTED, VEIL
from seq2see.inspect.font import choose_font, choose_fonts, explain_missing
from seq2see.inspect.label import show_text
from seq2see.inspect.panel import list_panels

COLUMNS = 6  # pictures beside each other
SIDE = 320  # pixels of an animation
SECONDS = 0.9  # a word of an animation is seen

Weights = Float32[np.ndarray, "_ _"]


def draw_overlays(
    trace: AttentionTrace, *, name: str | None = None, heads: bool = False, cells: bool = False
) -> Figure:
    """The picture, and then once for each word with its weights; `cells` shows the grid as it is, not smoothed.

    If it was measured what the output loses without each region, that comes last.
    """
    frames = list_frames(trace, name=name, heads=heads) if trace.maps else []
    if trace.regions is not None:
        falls = np.array([max(each.fall, 0.0) for each in trace.falls], dtype=np.float32)
        frames.append(("what it needs\n(left out in turn)", falls.reshape(trace.regions)))
    columns = min(COLUMNS, len(frames) + 1)
    rows = math.ceil((len(frames) + 1) / columns)
    figure = Figure(figsize=(2.1 * columns, 2.35 * rows), layout="compressed")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    fonts = choose_fonts(" ".join(title.replace("\n", " ") for title, _ in frames), base="DejaVu Sans")
    for each in axes:
        each.set_axis_off()
    picture = _picture(trace)
    axes[0].imshow(picture)
    for place, (title, weights) in enumerate(frames, 1):
        axes[place].imshow(lay_over(picture, weights, cells=cells))
        lines = "\n".join(fonts.spell(line) for line in title.splitlines())
        heading = axes[place].set_title(lines, fontsize=8, family=list(fonts.families))
        heading.set_parse_math(False)
    notes = ["veiled: weight 0", "clear: the largest of each picture", explain_missing(fonts)]
    figure.supxlabel("; ".join(filter(None, notes)), fontsize=7, color=MUTED, x=0.01, ha="left")
    return figure


def save_animation(
    trace: AttentionTrace, path: Path | str, *, name: str | None = None, heads: bool = False, cells: bool = False
) -> Path:
    """A .gif that goes through the words one at a time."""
    picture = _picture(trace)
    frames = [
        _caption(lay_over(picture, weights, cells=cells), title)
        for title, weights in list_frames(trace, name=name, heads=heads)
    ]
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=int(1000 * SECONDS), loop=0)
    write_atomic(Path(path), buffer.getvalue())
    return Path(path)


def list_frames(trace: AttentionTrace, *, name: str | None = None, heads: bool = False) -> list[tuple[str, Weights]]:
    """A title and the weights over the picture for each word of the caption (or head, or map) in turn."""
    if trace.grid is None:
        raise Seq2SeeError("an overlay needs a picture as source; this run reads texts.")
    cells = trace.grid[0] * trace.grid[1]
    panels = [panel for panel in list_panels(trace, name=name, heads=heads) if panel.weights.shape[1] == cells]
    if not panels:
        raise Seq2SeeError("none of the chosen maps looks at the cells of the picture; choose others with --map.")
    chosen = panels if name is not None or heads else panels[-1:]
    return [
        (_title(token, panel.title if len(chosen) > 1 else ""), row.reshape(trace.grid))
        for panel in chosen
        for token, row in zip(panel.rows, panel.weights, strict=True)
    ]


def lay_over(picture: Picture, weights: Weights, *, cells: bool = False) -> Picture:
    """The picture as clear as the weights, the largest of them being without a veil."""
    largest = float(weights.max())
    shares = np.nan_to_num(weights / largest if largest > 0 else weights, nan=0.0).astype(np.float32)
    height, width = picture.shape[:2]
    way = Image.Resampling.NEAREST if cells else Image.Resampling.BICUBIC
    clear = DIM + (1 - DIM) * np.asarray(Image.fromarray(shares).resize((width, height), way)).clip(0, 1)[..., None]
    return (picture * clear + np.array(VEIL) * (1 - clear)).round().astype(np.uint8)


def encode_picture(picture: Picture) -> str:
    """The picture as a data address, for pages that ask nothing of the network."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="JPEG", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _picture(trace: AttentionTrace) -> UInt8[np.ndarray, "y x 3"]:
    if trace.picture is None:
        raise Seq2SeeError("an overlay needs a picture as source; this run reads texts.")
    return trace.picture


def _title(token: Token, of: str) -> str:
    sure = "" if token.confidence is None else f" {token.confidence:.0%}"
    return "\n".join(line for line in (f"{show_text(token.text)}{sure}", *of.split(", ")) if line)


def _caption(picture: Picture, title: str) -> Image.Image:
    """A frame with its word below."""
    lines = 1 + title.count("\n")
    below = 12 + 22 * lines
    frame = Image.new("RGB", (SIDE, SIDE + below), "white")
    frame.paste(Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BICUBIC), (0, 0))
    file, shown = choose_font(title, base="DejaVu Sans")
    font = ImageFont.truetype(file, 18 if lines == 1 else 14)
    place = (SIDE // 2, SIDE + below // 2)
    ImageDraw.Draw(frame).text(place, shown, fill="black", font=font, anchor="mm", align="center")
    return frame
