"""Attention maps in the terminal: blocks whose colour, or shade where there is no colour, is the weight."""

from collections.abc import Sequence

from rich import get_console
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionTrace, ProbabilityDrop
from seq2see.render.colours import DARK, mix_colour
from seq2see.render.figures.overlay import Weights, list_frames
from seq2see.render.panel import Panel, explain_nothing, list_panels
from seq2see.render.terminal.terminal_document import HEAVIEST, say_agreement
from seq2see.render.token_label import shorten, show_text, split_clusters

SHADES = " ░▒▓█"
COLUMN = 2  # cells; two are about as wide as one is high, and an East Asian character fits
HEADER = 12  # letters of a source token, written downwards
LABEL = 18  # cells of a target token


def render_terminal(
    trace: AttentionTrace, *, width: int | None = None, name: str | None = None, heads: bool = False
) -> Text:
    """Return queries (the target) as rows and keys (the source) as columns, in bands of at most `width` cells.

    Args:
        trace: what is shown.
        width: of the terminal.
        name: show the maps whose name contains it; without a name, the last cross-attention and the names of others.
        heads: show each head instead of the mean over heads.
    """
    nothing = explain_nothing(trace)
    if nothing:
        return Text("\n".join([nothing, *summarise_drops(trace)]))
    if trace.grid is not None:
        return render_mosaic(trace, width=width or get_console().width, name=name, heads=heads)
    panels = list_panels(trace, name=name, heads=heads)
    shown = panels[-1:] if name is None and not heads else panels
    lines: list[Text] = []
    for panel in shown:
        lines += render_panel(panel, width=width or get_console().width)
    lines.append(render_legend())
    if name is None and len(trace.maps) > 1:
        lines.append(Text(f"{len(trace.maps)} maps in all: {name_maps(trace)}", style="dim"))
    lines += [Text(line, style="dim") for line in summarise_drops(trace)]
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def render_mosaic(trace: AttentionTrace, *, width: int, name: str | None, heads: bool) -> Text:
    """For each word a small grid of the image's cells, as bright as their share of the largest weight."""
    tiles = [_render_tile(title, weights) for title, weights in list_frames(trace, name=name, heads=heads)]
    across = max(1, width // (max(tile[0].cell_len for tile in tiles) + 2))
    lines: list[Text] = []
    for start in range(0, len(tiles), across):
        lines += [Text("  ").join(row) for row in zip(*tiles[start : start + across], strict=True)]
        lines.append(Text(""))
    lines.append(Text("brightness: 0 to the largest weight of each word", style="dim"))
    lines += [Text(line, style="dim") for line in summarise_drops(trace)]
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def summarise_drops(trace: AttentionTrace) -> list[str]:
    """Return a line with the largest probability drops, and one that says how far attention agrees with them."""
    if not trace.drops:
        return []
    ranked = sorted(trace.drops, key=lambda each: -each.drop)[:HEAVIEST]
    said = ", ".join(f"{name_part(trace, each)} {-each.drop:+.2g}" for each in ranked)
    lines = [f"largest drops when it is left out (log-probability of a text, probability of a label): {said}"]
    parts = "parts of the source" if trace.regions is None else "regions"  # words, or letters where there are no spaces
    return lines if trace.agreement is None else [*lines, say_agreement(parts, trace.agreement)]


def name_part(trace: AttentionTrace, part: ProbabilityDrop) -> str:
    """Return a word of the source, or a region by its row and column."""
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
    """A title and as many bands as the columns need."""
    step = max(1, (width - measure_side(panel.rows)) // COLUMN)
    bands = [render_band(panel, columns=range(at, at + step)) for at in range(0, len(panel.columns), step)]
    return [Text(panel.title, style="bold"), *(line for band in bands for line in (*band, Text("")))]


def name_maps(trace: AttentionTrace) -> str:
    """The first and the last map, to show how they are called."""
    names = [each.name for each in trace.maps]
    return " ... ".join((names[0], names[-1])) if len(names) > 2 else ", ".join(names)


def render_band(panel: Panel, *, columns: range) -> list[Text]:
    """The header and the rows of as many columns as fit side by side, all of one width."""
    here = slice(columns.start, columns.stop)
    side = measure_side(panel.rows)
    header = [Text(" " * side) + line for line in render_header(panel.columns[here])]
    rows = zip(panel.rows, panel.weights[:, here].tolist(), strict=True)
    return header + [render_side(token, width=side) + render_cells(weights) for token, weights in rows]


def render_header(tokens: Sequence[Token]) -> list[Text]:
    """The source tokens written downwards, each above its column."""
    words = [split_clusters(shorten(show_text(token.text), limit=HEADER)) for token in tokens]
    height = max(map(len, words))
    stacks = [[" "] * (height - len(word)) + word for word in words]
    return [Text("".join(_fit(letter, COLUMN) for letter in line)) for line in zip(*stacks, strict=True)]


def render_side(token: Token, *, width: int) -> Text:
    """The target token, padded, and the model's confidence in it."""
    share = "" if token.confidence is None else f"{token.confidence:.0%}"
    return Text.assemble(_fit(show_text(token.text), width - 6), (f"{share:>5} ", "dim"))


def render_cells(weights: Sequence[float]) -> Text:
    """One block for each weight; the shade hides under its own colour and appears where colour is off."""
    cells = Text()
    for weight in weights:
        colour = mix_colour(weight, stops=DARK)
        cells.append(shade_weight(weight) * COLUMN, Style(color=colour, bgcolor=colour))
    return cells


def render_legend() -> Text:
    """The scale from 0 to 1 with its shades."""
    return Text("0 ") + render_cells([step / 8 for step in range(9)]) + Text(" 1  attention weight", style="dim")


def shade_weight(weight: float) -> str:
    """The block character whose ink is nearest to the weight: ░ a quarter, ▒ a half, ▓ three quarters."""
    known = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
    return SHADES[int(known * 4 + 0.5)]


def measure_side(tokens: Sequence[Token]) -> int:
    """The cells that the longest target token and a confidence take."""
    return min(LABEL, max(cell_len(show_text(token.text)) for token in tokens)) + 6


def _fit(label: str, width: int) -> str:
    """The label in exactly `width` cells."""
    whole = cell_len(label) <= width
    return set_cell_size(label if whole else set_cell_size(label, width - 1) + "…", width)
