"""Attention maps as a page, in the terminal, and as a figure: a heatmap, or overlays on an image, one for each word."""

from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure
from pydantic import JsonValue
from rich.text import Text

from seq2see.core.errors import Seq2SeeError
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.render.figures.figure_file import FORMATS, save_figure
from seq2see.render.figures.heatmap import draw_heatmap
from seq2see.render.figures.overlay import draw_overlays, save_animation
from seq2see.render.html.page import embed_page
from seq2see.render.panel import check_map, explain_nothing
from seq2see.render.terminal.terminal_heatmap import render_terminal, summarise_drops
from seq2see.render.trace_renderer import TraceRenderer

FRAME_HEIGHT, MAX_FRAME_HEIGHT, ROW_HEIGHT = 400, 820, 28  # pixels: of a frame without rows, at most, for each token


class AttentionRenderer(TraceRenderer[AttentionTrace]):
    """Draws the attention maps of one output."""

    def draw(
        self, trace: AttentionTrace, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Figure:
        """Return overlays on the image if the source is one and there are weights or drops for it; else a heatmap."""
        if self._has_overlay(trace):
            return draw_overlays(trace, name=name, heads=heads, cells=cells)
        return draw_heatmap(trace, name=name, heads=heads)

    def save_figure(
        self, trace: AttentionTrace, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Draw the maps into a .png or .svg file; maps over an image also into a .gif that shows word after word.

        Raises:
            Seq2SeeError: the path ends otherwise, or a .gif is asked for where no map attends to an image.
        """
        animated = path.suffix.lower() == ".gif"
        if animated and trace.image is not None and not trace.maps:
            raise Seq2SeeError(
                "this model has no attention to show word by word; choose a name that ends in .png, .svg or .html."
            )
        overlaid = self._has_overlay(trace)
        if animated and overlaid:
            return save_animation(trace, path, name=name, heads=heads, cells=cells)
        figure = self.draw(trace, name=name, heads=heads, cells=cells)
        return save_figure(figure, path, formats=(*FORMATS, "gif") if overlaid else FORMATS)

    def embed(self, trace: AttentionTrace) -> str:
        """Return the page of the trace in a frame, which is higher for more target tokens."""
        for each in trace.maps:
            check_map(each, trace=trace)
        height = min(MAX_FRAME_HEIGHT, FRAME_HEIGHT + ROW_HEIGHT * len(trace.target_tokens))
        return embed_page(trace.to_dict(), height=height)

    def to_terminal(
        self,
        trace: AttentionTrace,
        *,
        width: int | None = None,
        name: str | None = None,
        heads: bool = False,
        wrap: bool = True,
    ) -> Text:
        """Return the maps as rows of coloured blocks, one block for each weight."""
        return render_terminal(trace, width=width, name=name, heads=heads, wrap=wrap)

    def summarise_drops(self, trace: AttentionTrace) -> list[str]:
        """Return the largest probability drops and their rank correlation with attention, if they were measured."""
        return summarise_drops(trace)

    def pack(self, trace: AttentionTrace, *, max_weights: int) -> dict[str, JsonValue]:
        """Return the payload; each map is averaged over its heads if all maps have more than `max_weights` weights."""
        maps = [check_map(each, trace=trace) for each in trace.maps]
        if sum(each.weights.size for each in maps) <= max_weights:
            return trace.to_dict()
        kept: list[JsonValue] = [
            {
                **vars(each),
                "weights": each.weights.mean(axis=0, keepdims=True).tolist(),
                "averaged_heads": each.weights.shape[0],
            }
            for each in maps
        ]
        # without maps, to_dict does not turn weights into lists that are not needed
        return {**replace(trace, maps=()).to_dict(), "maps": kept}

    def _has_overlay(self, trace: AttentionTrace) -> bool:
        return trace.image is not None and (explain_nothing(trace) is None or trace.regions is not None)
