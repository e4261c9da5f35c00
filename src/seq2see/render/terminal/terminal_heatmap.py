"""Attention maps in the terminal: a block for each weight, with a colour, or a shade where there are no colours."""

from collections.abc import Sequence

import numpy as np
from rich import get_console
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionTrace, ProbabilityDrop
from seq2see.render.colours import DARK, WARM_DARK, mix_colour
from seq2see.render.figures.overlay import Weights, list_frames
from seq2see.render.panel import Panel, explain_nothing, list_panels
from seq2see.render.terminal.terminal_document import ATTENTION, HEAVIEST, LEAVE_ONE_OUT, draw_bar, say_agreement
from seq2see.render.token_label import UNKNOWN_MARK, label_token, list_unknown, shorten, show_text, split_clusters

SHADES = " ░▒▓█"
COLUMN = 2  # terminal cells of a weight: about a square, and wide enough for an East Asian character
HEADER = 12  # characters of a source token, which is written downwards; a longer one is cut
MAX_DROPS = 24  # parts whose drops are shown one by one
LABEL = 18  # terminal cells of a target token; a longer one is cut


def render_terminal(
    trace: AttentionTrace,
    *,
    width: int | None = None,
    name: str | None = None,
    heads: bool = False,
    wrap: bool = True,
) -> Text:
    """Return maps with queries (the target) as rows and keys (the source) as columns; over an image, overlays.

    Args:
        trace: the trace to show; without any map or token, the text is a sentence that says so.
        width: the most terminal cells in a line, where a map is broken into bands; None takes the terminal's width.
        name: the name of the maps to show, or a part of it, or `all`; None shows the last cross-attention map and, if
            there are several maps, the first and the last of their names.
        heads: whether to show each head instead of the mean over heads.
        wrap: whether sentences are broken at the width, too.
    """
    width = width or get_console().width
    limit = width if wrap else None
    nothing = explain_nothing(trace)
    if nothing:
        unknown = list_unknown(trace.source_tokens)
        return Text("\n".join([nothing, *([unknown] if unknown else []), *summarise_drops(trace)]))
    if trace.grid is not None:
        return render_mosaic(trace, width=width, name=name, heads=heads, limit=limit)
    panels = list_panels(trace, name=name, heads=heads)
    shown = panels[-1:] if name is None and not heads else panels
    lines = render_drops_first(trace, limit=limit)
    for panel in shown:
        lines += render_panel(panel, width=width)
    lines.append(render_legend(shares=any(token.confidence is not None for token in trace.target_tokens)))
    if name is None and len(trace.maps) > 1:
        lines.append(Text(f"{len(trace.maps)} maps in all: {name_maps(trace)}", style="dim"))
    return _join(lines, trace, limit=limit)


def render_drops_first(trace: AttentionTrace, *, limit: int | None) -> list[Text]:
    """Return why leave-one-out comes before attention, and the drop of each part; nothing if attention comes first.

    Args:
        trace: the trace; of more than 24 parts, those with the largest drops are shown, in their order.
        limit: the terminal cells at which sentences are broken; None breaks none.
    """
    if not trace.drops_first:
        return []
    heading = [*_wrap(Text(trace.caption), limit), Text(""), Text(LEAVE_ONE_OUT, style="bold")]
    most = max(max(each.drop for each in trace.drops), 1e-12)
    if trace.regions is not None:
        shares = np.array([max(each.drop, 0.0) for each in trace.drops], dtype=np.float32).reshape(trace.regions)
        told = Text("brightness: 0 to the largest drop of a region", style="dim")
        return [*heading, *_render_tile("", shares)[1:], told, Text(""), Text(ATTENTION, style="bold")]
    largest = sorted(trace.drops, key=lambda each: -each.drop)[:MAX_DROPS]
    shown = [each for each in trace.drops if each in largest]
    side = min(LABEL, max(cell_len(name_part(trace, each)) for each in shown))
    rows = [_render_drop(name_part(trace, each), each.drop, most=most, side=side) for each in shown]
    more = [Text(f"and {len(trace.drops) - len(shown)} parts with smaller drops", style="dim")]
    return [*heading, *rows, *(more if len(shown) < len(trace.drops) else []), Text(""), Text(ATTENTION, style="bold")]


def _render_drop(name: str, drop: float, *, most: float, side: int) -> Text:
    share = max(drop, 0.0) / most
    bar = (draw_bar(share), Style(color=mix_colour(share, stops=WARM_DARK)))
    return Text.assemble(_fit(name, side), f" {-drop:+7.2f} ", bar)


def _wrap(line: Text, limit: int | None) -> list[Text]:
    return [line] if limit is None else list(line.wrap(get_console(), limit))


def _join(lines: list[Text], trace: AttentionTrace, *, limit: int | None) -> Text:
    """Return the lines above what is said below every map: unknown tokens, drops, and what attention is."""
    unknown = list_unknown(trace.source_tokens)
    below = [f"{UNKNOWN_MARK} {unknown}"] if unknown else []
    below += [*summarise_drops(trace), *([] if trace.drops_first else [trace.caption])]
    return Text("\n", no_wrap=True, overflow="ignore" if limit is None else "crop").join(
        [*lines, *(part for line in below for part in _wrap(Text(line, style="dim"), limit))]
    )


def render_mosaic(
    trace: AttentionTrace, *, width: int, name: str | None, heads: bool, limit: int | None = None
) -> Text:
    """Return a small grid for each word: the cells of the image, as bright as their share of the largest weight.

    Args:
        trace: a trace with a grid.
        width: the most terminal cells in a line; one grid at least is shown, even if it is wider.
        name: the maps to show; None shows the last cross-attention map.
        heads: whether to show each head instead of the mean over heads.
        limit: the terminal cells at which sentences are broken; None breaks none.
    """
    tiles = [_render_tile(title, weights) for title, weights in list_frames(trace, name=name, heads=heads)]
    across = max(1, width // (max(tile[0].cell_len for tile in tiles) + 2))
    lines = render_drops_first(trace, limit=limit)
    for start in range(0, len(tiles), across):
        lines += [Text("  ").join(row) for row in zip(*tiles[start : start + across], strict=True)]
        lines.append(Text(""))
    lines.append(Text("brightness: 0 to the largest weight of each word", style="dim"))
    return _join(lines, trace, limit=limit)


def summarise_drops(trace: AttentionTrace) -> list[str]:
    """Return a line with the largest probability drops, and one with their rank correlation with attention.

    Args:
        trace: the trace; without drops there are no lines, without cross-attention only the first one.
    """
    if not trace.drops:
        return []
    ranked = sorted(trace.drops, key=lambda each: -each.drop)[:HEAVIEST]
    said = ", ".join(f"{name_part(trace, each)} {-each.drop:+.2g}" for each in ranked)
    lines = [f"largest drops when it is left out (log-probability of a text, probability of a label): {said}"]
    parts = "parts of the source" if trace.regions is None else "regions"  # words, or letters where there are no spaces
    return lines if trace.agreement is None else [*lines, say_agreement(parts, trace.agreement)]


def name_part(trace: AttentionTrace, part: ProbabilityDrop) -> str:
    """Return the name of a part of the source: a word as it is written, or a region of an image by its row and column.

    Args:
        trace: the trace that the part belongs to.
        part: the drop, whose `start` and `end` are a span of characters, or the number of a region and the next number.
    """
    if trace.regions is None:
        return show_text(trace.source[part.start : part.end])
    row, column = divmod(part.start, trace.regions[1])
    return f"row {row + 1} column {column + 1}"


def _render_tile(title: str, weights: Weights) -> list[Text]:
    largest = float(weights.max()) or 1.0
    rows = [render_cells(row) for row in (weights / largest).tolist()]
    label = " ".join(title.split())
    width = max(rows[0].cell_len, min(cell_len(label), LABEL))
    return [Text(_fit(label, width), style="bold"), *(row + " " * (width - row.cell_len) for row in rows)]


def render_panel(panel: Panel, *, width: int) -> list[Text]:
    """Return the lines of a panel: its title, and as many bands as its columns need.

    Args:
        panel: the weights with their tokens.
        width: the most terminal cells in a line; a band has one column at least.
    """
    step = max(1, (width - measure_side(panel.rows)) // COLUMN)
    bands = [render_band(panel, columns=range(at, at + step)) for at in range(0, len(panel.columns), step)]
    return [Text(panel.title, style="bold"), *(line for band in bands for line in (*band, Text("")))]


def name_maps(trace: AttentionTrace) -> str:
    """Return the names of the maps; of more than two, the first and the last as examples.

    Args:
        trace: a trace with at least one map.
    """
    names = [each.name for each in trace.maps]
    return " ... ".join((names[0], names[-1])) if len(names) > 2 else ", ".join(names)


def render_band(panel: Panel, *, columns: range) -> list[Text]:
    """Return the lines of a band: a header with the source tokens, then a row for each target token.

    Args:
        panel: the weights with their tokens.
        columns: the columns to show; those behind the last one of the panel are ignored.
    """
    here = slice(columns.start, columns.stop)
    side = measure_side(panel.rows)
    header = [Text(" " * side) + line for line in render_header(panel.columns[here])]
    rows = zip(panel.rows, panel.weights[:, here].tolist(), strict=True)
    return header + [render_side(token, width=side) + render_cells(weights) for token, weights in rows]


def render_header(tokens: Sequence[Token]) -> list[Text]:
    """Return the lines of a header: the tokens written downwards, each above its column and ending in the last line.

    Args:
        tokens: the tokens of the columns, at least one.
    """
    words = [split_clusters(shorten(label_token(token), limit=HEADER)) for token in tokens]
    height = max(map(len, words))
    stacks = [[" "] * (height - len(word)) + word for word in words]
    return [Text("".join(_fit(letter, COLUMN) for letter in line)) for line in zip(*stacks, strict=True)]


def render_side(token: Token, *, width: int) -> Text:
    """Return the label of a row: the token and the confidence of the model in it, in percent.

    Args:
        token: the token; a source token has no confidence, so spaces fill its place.
        width: the terminal cells of the label, six of them for the confidence; a longer token is cut.
    """
    share = "" if token.confidence is None else f"{token.confidence:.0%}"
    return Text.assemble(_fit(label_token(token), width - 6), (f"{share:>5} ", "dim"))


def render_cells(weights: Sequence[float]) -> Text:
    """Return a block for each weight.

    The shade has the same colour as its background, so it can be seen only where colours are off.

    Args:
        weights: the weights of a row, 0 to 1.
    """
    cells = Text()
    for weight in weights:
        colour = mix_colour(weight, stops=DARK)
        cells.append(shade_weight(weight) * COLUMN, Style(color=colour, bgcolor=colour))
    return cells


def render_legend(*, shares: bool = False) -> Text:
    """Return the legend: blocks of weights from 0 to 1.

    Args:
        shares: whether it also says what the percentages beside the rows are.
    """
    said = " 1  attention weight" + (", 100%: probability of the token" if shares else "")
    return Text("0 ") + render_cells([step / 8 for step in range(9)]) + Text(said, style="dim")


def shade_weight(weight: float) -> str:
    """Return the block character nearest to a weight: a space for 0, ░ for 1/4, ▒ for 1/2, ▓ for 3/4, █ for 1.

    Args:
        weight: 0 to 1; a weight outside is clipped, and NaN counts as 0.
    """
    known = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
    return SHADES[int(known * 4 + 0.5)]


def measure_side(tokens: Sequence[Token]) -> int:
    """Return the terminal cells that the labels of the rows need: the longest token, cut at 18 cells, and a confidence.

    Args:
        tokens: the tokens of the rows, at least one.
    """
    return min(LABEL, max(cell_len(label_token(token)) for token in tokens)) + 6


def _fit(label: str, width: int) -> str:
    """Return the label in exactly `width` terminal cells, padded, or cut with … at its end."""
    whole = cell_len(label) <= width
    return set_cell_size(label if whole else set_cell_size(label, width - 1) + "…", width)
