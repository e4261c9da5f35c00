"""Scores against the length of the source, a line a run: figure 2 of Bahdanau et al. 2015 (arXiv:1409.0473)."""

from itertools import cycle
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2see.metrics.length import LengthScores
from seq2see.render.colours import MUTED, RUNS
from seq2see.render.figures.figure_file import save_figure
from seq2see.render.figures.fonts import choose_fonts
from seq2see.render.figures.notebook_figure import NotebookFigure

NAMES = {"bleu": "BLEU", "chrf": "chrF", "exact_match": "exact match, %", "accuracy": "accuracy, %"}
DASHES = ("-", "--", ":", "-.")  # so that lines differ without colour too
MARKERS = ("o", "s", "^", "D", "v")


def draw_lengths(lengths: LengthScores, *, metric: str | None = None) -> Figure:
    """Draw one metric of each run against the mean length of each bucket of source lengths.

    Args:
        lengths: the scores of the runs; a bucket with too few sentences for a reliable score gets a hollow mark.
        metric: bleu, chrf, exact_match, or accuracy of labels; None, or a metric without scores, draws BLEU, exact
            match without BLEU, or the accuracy of labels.
    """
    metric = lengths.choose_metric(metric)
    figure = NotebookFigure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    fonts = choose_fonts("".join(lengths.scores[metric]) + "…", base="DejaVu Sans")
    places = [bucket.mean for bucket in lengths.buckets.buckets]
    styles = zip(cycle(RUNS), cycle(DASHES), cycle(MARKERS), strict=False)
    for (name, values), ((colour, _), dash, marker) in zip(lengths.scores[metric].items(), styles, strict=False):
        (line,) = axes.plot(places, values, linestyle=dash, linewidth=1.8, label=fonts.spell(name))
        few = [place for place, bucket in enumerate(lengths.buckets.buckets) if bucket.few]
        (hollow,) = axes.plot([places[place] for place in few], [values[place] for place in few], linestyle="")
        for each in (line, hollow):
            each.set(color=colour, marker=marker, markersize=5, clip_on=False)
        hollow.set_markerfacecolor("white")
    _dress(axes, lengths, metric)
    legend = axes.legend(frameon=False, fontsize=9, prop={"family": list(fonts.families), "size": 9})
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def save_lengths(lengths: LengthScores, path: Path, *, metric: str | None = None) -> Path:
    """Draw the figure into a .png or .svg file and return its path.

    Args:
        lengths: the scores of the runs.
        path: the file.
        metric: the metric to draw, as for `draw_lengths`.
    """
    return save_figure(draw_lengths(lengths, metric=metric), path)


def _dress(axes: Axes, lengths: LengthScores, metric: str) -> None:
    buckets = lengths.buckets.buckets
    axes.set_xlabel(
        f"source length in {lengths.buckets.unit}, with the number of {lengths.counted}", color=MUTED, fontsize=9
    )
    axes.set_ylabel(NAMES.get(metric, metric), color=MUTED, fontsize=9)
    axes.set_xticks([bucket.mean for bucket in buckets], [f"{b.label}\n{len(b.rows):,}" for b in buckets], fontsize=8)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dfe4ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelcolor=MUTED, labelsize=8)
