"""A document with the weights of its sentences and words: as a page, in the terminal and as a figure."""

from pathlib import Path

from matplotlib.figure import Figure
from rich.table import Table

from seq2see.explain.document_trace import DocumentTrace
from seq2see.render.figures.document_figure import draw_document
from seq2see.render.figures.figure_file import save_figure
from seq2see.render.html.page import embed_page
from seq2see.render.terminal.terminal_document import render_document
from seq2see.render.trace_renderer import TraceRenderer

FRAME_HEIGHT, MAX_FRAME_HEIGHT, ROW_HEIGHT = 220, 760, 34  # pixels: without rows, at most, for each sentence


class DocumentRenderer(TraceRenderer[DocumentTrace]):
    """Draws documents with the weights of sentences and words (Yang et al. 2016, doi:10.18653/v1/N16-1174).

    A document has no maps or heads to choose from: `name`, `heads` and `cells` have no effect.
    """

    def draw(
        self, trace: DocumentTrace, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Figure:
        """Return a figure of the document."""
        return draw_document(trace)

    def save_figure(
        self, trace: DocumentTrace, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Draw the document into a .png or .svg file."""
        return save_figure(draw_document(trace), path)

    def embed(self, trace: DocumentTrace) -> str:
        """Return the page of the document in a frame, which is higher for more sentences."""
        height = min(MAX_FRAME_HEIGHT, FRAME_HEIGHT + ROW_HEIGHT * len(trace.sentences))
        return embed_page(trace.to_dict(), height=height)

    def to_terminal(
        self,
        trace: DocumentTrace,
        *,
        width: int | None = None,
        name: str | None = None,
        heads: bool = False,
        wrap: bool = True,
    ) -> Table:
        """Return a table with a row for each sentence, whose cells are broken where it is printed."""
        return render_document(trace, width=width)

    def summarise_drops(self, trace: DocumentTrace) -> list[str]:
        """Return no sentences: `to_terminal` shows the drops already."""
        return []
