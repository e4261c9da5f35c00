"""Scores against the length of the source, a line a run: figure 2 of Bahdanau et al. 2015."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2see.core.errors import Seq2SeeError
from seq2see.core.files import write_atomic
from seq2see.inspect.colour import MUTED, RUNS
from seq2see.inspect.font import choose_fonts
from seq2see.metrics.length import Buckets

NAMES = {"bleu": "BLEU", "chrf": "chrF", "exact_match": "exact match, %"}
DASHES = ("-", "--", ":", "-.")  # so that lines differ without colour too
MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Lengths:
    """Scores of several runs for each bucket of source lengths."""

    buckets: Buckets
    scores: Mapping[str, Mapping[str, Sequence[float]]]  # metric -> run -> a number for each bucket

    def choose_metric(self, asked: str | None = None) -> str:
        """What is asked for if it is there, or else BLEU, which texts of a few words do not have, or exact match."""
        return next(metric for metric in (asked or "bleu", "bleu", "exact_match") if metric in self.scores)


def draw_lengths(lengths: Lengths, *, metric: str | None = None) -> Figure:
    """Draw one metric against the mean length of each bucket; hollow marks stand for few sentences."""
    metric = lengths.choose_metric(metric)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    fonts = choose_fonts("".join(lengths.scores[metric]) + "…", base="DejaVu Sans")
    places = [bucket.mean for bucket in lengths.buckets.buckets]
    styles = zip(cycle(RUNS), cycle(DASHES), cycle(MARKERS), strict=False)
    for (name, values), ((colour, _), dash, marker) in zip(lengths.scores[metric].items(), styles, strict=False):
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "clip_on": False}
        axes.plot(places, values, linestyle=dash, linewidth=1.8, label=fonts.spell(name), **look)
        few = [place for place, bucket in enumerate(lengths.buckets.buckets) if bucket.few]
        hollow = [places[place] for place in few], [values[place] for place in few]
        axes.plot(*hollow, linestyle="", markerfacecolor="white", **look)
    _dress(axes, lengths, metric)
    legend = axes.legend(frameon=False, fontsize=9, prop={"family": list(fonts.families), "size": 9})
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def save_lengths(lengths: Lengths, path: Path, *, metric: str | None = None) -> Path:
    """Draw the figure into a .png or .svg file."""
    kind = check_picture(path)
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    draw_lengths(lengths, metric=metric).savefig(buffer, format=kind, dpi=160, metadata=metadata, facecolor="white")
    write_atomic(path, buffer.getvalue())
    return path


def check_picture(path: Path) -> str:
    """The kind of picture that a name asks for."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg"):
        raise Seq2SeeError(f"the name of the figure must end in .png or .svg; got {path.name}; rename it.")
    return kind


def _dress(axes: Axes, lengths: Lengths, metric: str) -> None:
    buckets = lengths.buckets.buckets
    axes.set_xlabel(f"source length in {lengths.buckets.unit}, with the number of sentences", color=MUTED, fontsize=9)
    axes.set_ylabel(NAMES.get(metric, metric), color=MUTED, fontsize=9)
    axes.set_xticks([bucket.mean for bucket in buckets], [f"{b.label}\n{len(b.rows):,}" for b in buckets], fontsize=8)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dfe4ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelcolor=MUTED, labelsize=8)
