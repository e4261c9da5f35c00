"""The base of all renderers: a trace as a page, as JSON, as a figure, and in the terminal."""

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
    """Draws one kind of trace; the registry holds one renderer for each kind.

    Every method has the same options, so that callers need not know the kind; one without effect is ignored.
    """

    @abstractmethod
    def draw(self, trace: TraceT, *, name: str | None = None, heads: bool = False, cells: bool = False) -> Figure:
        """Return a matplotlib figure of the trace.

        Args:
            trace: the trace to draw.
            name: draw the maps whose name is or contains this; `all` draws every map, and None the cross-attention.
            heads: whether to draw each head instead of the mean over heads.
            cells: whether an overlay on an image shows the cells of the grid as squares instead of smoothing them.
        """

    @abstractmethod
    def save_figure(
        self, trace: TraceT, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Draw the trace into a file and return its path.

        Args:
            trace: the trace to draw.
            path: the file, whose ending chooses the format: .png or .svg, of some traces also .gif.
            name: the maps to draw, as for `draw`.
            heads: whether to draw each head, as for `draw`.
            cells: whether to show the cells of an image as squares, as for `draw`.

        Raises:
            Seq2SeeError: the path ends otherwise.
        """

    @abstractmethod
    def embed(self, trace: TraceT) -> str:
        """Return an HTML frame with the page of the trace, for a notebook; styles and scripts stay inside the frame.

        Args:
            trace: the trace to show.
        """

    @abstractmethod
    def to_terminal(
        self,
        trace: TraceT,
        *,
        width: int | None = None,
        name: str | None = None,
        heads: bool = False,
        wrap: bool = True,
    ) -> Text | Table:
        """Return the trace as coloured text.

        Args:
            trace: the trace to show.
            width: the most terminal cells in a line; None takes the width of the terminal.
            name: the maps to show, as for `draw`.
            heads: whether to show each head, as for `draw`.
            wrap: whether sentences are broken at the width, too; in a log they are not.
        """

    @abstractmethod
    def summarise_drops(self, trace: TraceT) -> list[str]:
        """Return sentences about the probability drops, to print where the trace itself goes into a file.

        Args:
            trace: the trace, with drops or without.

        Returns:
            No sentences if there are no drops, or if `to_terminal` is the only place to show them.
        """

    def pack(self, trace: TraceT, *, max_weights: int) -> dict[str, JsonValue]:
        """Return the payload of a trace for a page that shows many of them.

        Args:
            trace: the trace.
            max_weights: the most attention weights to keep head by head; with more, a renderer may average over heads.
        """
        return trace.to_dict()

    def save(
        self, trace: TraceT, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Write the trace into a file and return its path.

        Args:
            trace: the trace to write.
            path: the file: a page (.html), the payload (.json), or else a figure as `save_figure` writes it.
            name: the maps of a figure, as for `draw`; a page and a payload hold all maps.
            heads: whether a figure shows each head, as for `draw`.
            cells: whether a figure shows the cells of an image as squares, as for `draw`.

        Raises:
            Seq2SeeError: the path ends otherwise.
        """
        kind = path.suffix.lower()
        if kind == ".html":
            return save_page(render_page(trace.to_dict()), path)
        if kind == ".json":
            write_atomic(path, trace.to_json())
            return path
        return self.save_figure(trace, path, name=name, heads=heads, cells=cells)
