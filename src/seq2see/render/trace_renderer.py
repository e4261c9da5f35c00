"""The base of all renderers: a trace as a page, as JSON or as a figure, by the name of the file."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from matplotlib.figure import Figure
from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from seq2see.explain.output_trace import OutputTrace
from seq2see.render.html.page import render_page, save_page
from seq2see.system.files import write_atomic

TraceT = TypeVar("TraceT", bound=OutputTrace)


class TraceRenderer(ABC, Generic[TraceT]):
    """Draws one kind of trace; the registry names a renderer for each kind."""

    @abstractmethod
    def draw(self, trace: TraceT, *, name: str | None = None, heads: bool = False, cells: bool = False) -> Figure:
        """Return a matplotlib figure of the trace.

        Args:
            trace: what is drawn.
            name: draw the maps whose name contains it; `all` draws every map.
            heads: draw head by head instead of the mean over heads.
            cells: over an image, draw the cells as they are instead of smoothed.
        """

    @abstractmethod
    def save_figure(
        self, trace: TraceT, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Draw the trace into a file; the options are those of `draw`."""

    @abstractmethod
    def embed(self, trace: TraceT) -> str:
        """Return the page of the trace in a frame for a notebook, from which neither styles nor scripts leak."""

    @abstractmethod
    def to_terminal(
        self, trace: TraceT, *, width: int | None = None, name: str | None = None, heads: bool = False
    ) -> Text | Table:
        """Return the trace as text in colours, at most `width` cells wide."""

    @abstractmethod
    def summarise_drops(self, trace: TraceT) -> list[str]:
        """Return sentences about the probability drops that no other view in the terminal tells."""

    def pack(self, trace: TraceT, *, max_weights: int) -> dict[str, JsonValue]:
        """Return the payload for a page with many traces, which keeps at most so many weights of each."""
        return trace.to_dict()

    def save(
        self, trace: TraceT, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Write a page (.html), the payload (.json), or else a figure, for which the options of `draw` are."""
        kind = path.suffix.lower()
        if kind == ".html":
            return save_page(render_page(trace.to_dict()), path)
        if kind == ".json":
            write_atomic(path, trace.to_json())
            return path
        return self.save_figure(trace, path, name=name, heads=heads, cells=cells)
