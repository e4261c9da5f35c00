"""A heatmap of attention maps for papers and slides."""

import math

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text

from seq2see.core.special_tokens import SPECIAL_TOKENS, START
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.render.colours import LIGHT, MUTED, WRONG
from seq2see.render.figures.fonts import Fonts, choose_fonts, explain_missing
from seq2see.render.figures.footnote import write_footnote
from seq2see.render.figures.notebook_figure import NotebookFigure
from seq2see.render.panel import Panel, explain_nothing, find_maps, list_panels
from seq2see.render.token_label import UNKNOWN_NOTE, are_characters, shorten, show_text, split_clusters

MAX_LABEL = 20  # characters; a longer label is cut
MAX_INCHES = 28.0  # of a side without its labels; for more tokens the cells become smaller
MIN_FONT = 4.5  # points; smaller labels cannot be read
SCALE = Normalize(0.0, 1.0)  # always the whole range: a smaller one would draw weak attention as if it were strong


def draw_heatmap(trace: AttentionTrace, *, name: str | None = None, heads: bool = False) -> Figure:
    """Draw maps of a trace, with the keys (the source) above the columns and the queries (the target) beside the rows.

    Args:
        trace: the trace to draw; without any map or token, the figure is a sentence that says so.
        name: the name of the maps to draw, or a part of it, or `all`; None draws the cross-attention maps.
        heads: whether to draw each head instead of the mean over heads.
    """
    nothing = explain_nothing(trace)
    if nothing:
        return _draw_sentence(nothing)
    panels, fonts = list_panels(trace, name=name, heads=heads), _choose_fonts(trace)
    most = max(len(each.weights) for each in find_maps(trace, name))
    columns = most if heads else math.ceil(math.sqrt(len(panels)))  # heads of a map in one row
    cell = _measure_cell(panels, columns=columns)
    figure = NotebookFigure(
        figsize=_measure_figure(panels, columns=columns, cell=cell, fonts=fonts), layout="compressed"
    )
    grid = figure.subplots(math.ceil(len(panels) / columns), columns, squeeze=False).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel, fonts=fonts, size=min(11.0, cell * 36))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    _draw_scale(figure, list(grid))
    shares = any(token.confidence is not None for token in trace.target_tokens)
    unknown = any(token.unknown for token in trace.source_tokens)
    notes = ["100%: probability of the token" if shares else "", f"red: {UNKNOWN_NOTE}" if unknown else ""]
    write_footnote(figure, "; ".join(filter(None, [*notes, explain_missing(fonts)])), trace.caption)
    return figure


def _draw_sentence(sentence: str) -> Figure:
    figure = NotebookFigure(figsize=(5.0, 1.2))
    figure.text(0.5, 0.5, sentence, ha="center", va="center", color=MUTED)
    return figure


def _choose_fonts(trace: AttentionTrace) -> Fonts:
    tokens = (*trace.source_tokens, *trace.target_tokens)
    base = "DejaVu Sans Mono" if are_characters(tokens) else "DejaVu Sans"
    text = "".join(show_text(token.text) for token in tokens) + "".join(each.name for each in trace.maps)
    return choose_fonts(text + SPECIAL_TOKENS[START] + "…", base=base)


def _measure_cell(panels: list[Panel], *, columns: int) -> float:
    """Return the side of one cell in inches, which is smaller for many tokens."""
    tokens = (*panels[0].rows, *panels[0].columns)
    wanted = 0.27 if are_characters(tokens) else 0.33
    most = max(max(len(panel.rows), len(panel.columns)) for panel in panels)
    return min(wanted, MAX_INCHES / (most * max(columns, math.ceil(len(panels) / columns))))


def _measure_figure(panels: list[Panel], *, columns: int, cell: float, fonts: Fonts) -> tuple[float, float]:
    rows = math.ceil(len(panels) / columns)
    left = max(_measure_labels(panel.rows, fonts=fonts, cell=cell) for panel in panels)
    top = max(_measure_labels(panel.columns, fonts=fonts, cell=cell) for panel in panels)
    width = columns * (max(len(panel.columns) for panel in panels) * cell + left + 0.7) + 1.0
    height = rows * (max(len(panel.rows) for panel in panels) * cell + top + 0.6) + 0.4
    return max(width, 3.6), max(height, 2.4)


def _measure_labels(tokens: tuple[Token, ...], *, fonts: Fonts, cell: float) -> float:
    """Return the inches that the longest label needs; a character is about a third of a cell wide."""
    labels = _make_labels(tokens, fonts=fonts, size=MIN_FONT)
    return max(len(label) * _shrink(label, fonts) for label in labels) * cell / 3 + 0.1


def _shrink(label: str, fonts: Fonts) -> float:
    """Return the factor of the font size of a label; one with code points is small, to tell them from text."""
    return 0.6 if fonts.missing and "U+" in label else 1.0


def _draw_panel(axes: Axes, panel: Panel, *, fonts: Fonts, size: float) -> None:
    axes.pcolormesh(panel.weights, cmap=_make_colours(), norm=SCALE, edgecolors="white", linewidth=0.6)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.set_title(fonts.spell(panel.title), family=fonts.families, fontsize=10, color=MUTED, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    _label_columns(axes, panel.columns, fonts=fonts, size=size)
    _label_rows(axes, panel.rows, fonts=fonts, size=size)


def _make_colours() -> Colormap:
    return LinearSegmentedColormap.from_list("seq2see", LIGHT, N=256).with_extremes(bad="#e8e4dc")


def _label_columns(axes: Axes, tokens: tuple[Token, ...], *, fonts: Fonts, size: float) -> None:
    labels = _make_labels(tokens, fonts=fonts, size=size)
    axes.set_xticks([column + 0.5 for column in range(len(labels))], labels)
    upright = are_characters(tokens)
    for text, label, token in zip(axes.get_xticklabels(), labels, tokens, strict=True):
        _style_label(text, fonts=fonts, size=size, unknown=token.unknown)
        if not upright or len(split_clusters(label)) > 1:
            text.set(rotation=90 if upright else 50, rotation_mode="anchor", ha="left")
            text.set_verticalalignment("center" if upright else "bottom")


def _label_rows(axes: Axes, tokens: tuple[Token, ...], *, fonts: Fonts, size: float) -> None:
    labels = _make_labels(tokens, fonts=fonts, size=size)
    axes.set_yticks([row + 0.5 for row in range(len(labels))], labels)
    confident = any(token.confidence is not None for token in tokens)
    axes.tick_params(axis="y", pad=4 + size * 2.6 if confident else 4)
    for text, token in zip(axes.get_yticklabels(), tokens, strict=True):
        _style_label(text, fonts=fonts, size=size, unknown=token.unknown)
    for row, token in enumerate(tokens):
        if token.confidence is not None and labels[row]:
            _write_confidence(axes, token.confidence, row=row, size=size)


def _make_labels(tokens: tuple[Token, ...], *, fonts: Fonts, size: float) -> list[str]:
    """Return the labels; if all would be too small to read, only every second, third, ... and the others empty."""
    step = math.ceil(MIN_FONT / size)
    labels = [fonts.spell(shorten(show_text(token.text), limit=MAX_LABEL)) for token in tokens]
    return [label if place % step == 0 else "" for place, label in enumerate(labels)]


def _style_label(text: Text, *, fonts: Fonts, size: float, unknown: bool) -> None:
    text.set_color(WRONG if unknown else "black")
    text.set(family=fonts.families, fontsize=max(size, MIN_FONT) * _shrink(text.get_text(), fonts))
    text.set_parse_math(False)  # a token such as $ is no formula


def _write_confidence(axes: Axes, confidence: float, *, row: int, size: float) -> None:
    text = axes.annotate(f"{confidence:.0%}", (0, row + 0.5), xytext=(-4, 0), textcoords="offset points")
    text.set(fontsize=max(size, MIN_FONT) * 0.75, color=MUTED, ha="right", va="center")


def _draw_scale(figure: Figure, grid: list[Axes]) -> None:
    colours = ScalarMappable(norm=SCALE, cmap=_make_colours())
    bar = figure.colorbar(
        colours, ax=grid, label="attention weight", shrink=0.8, aspect=24, ticks=[0, 0.25, 0.5, 0.75, 1]
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    bar.ax.yaxis.label.set(color=MUTED, fontsize=9)
