"""The base of all traces: what an explanation of one output offers, whatever the model read and wrote."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from seq2see.core.box import Box
from seq2see.core.json_text import write_payload
from seq2see.core.registry import find
from seq2see.core.words import Span
from seq2see.data.modalities.modality import Modality
from seq2see.explain.attention_agreement import MEANING, AttentionAgreement
from seq2see.metrics.rank import RankAgreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pydantic import JsonValue
    from rich.table import Table
    from rich.text import Text

Parts = Sequence[Span] | Sequence[Box]  # spans of a text, or regions of an image
Drops = Float[np.ndarray, " _"]  # how much less probable the output is without each part; NaN: it was not left out

TraceT_contra = TypeVar("TraceT_contra", contravariant=True)


@runtime_checkable
class Renderer(Protocol[TraceT_contra]):
    """Draws one kind of trace; the registry knows it by the trace's `kind`."""

    def draw(
        self, trace: TraceT_contra, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> "Figure":
        """Return a figure of the trace.

        Args:
            trace: the trace to draw.
            name: draw the maps whose name contains it; `all` draws every map; None draws the default one.
            heads: draw head by head instead of the mean over heads.
            cells: over an image, draw the cells as they are instead of smoothed.
        """
        ...

    def save(
        self, trace: TraceT_contra, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        """Write the trace to a file, whose ending says what is written, and return its path.

        Args:
            trace: the trace to write.
            path: the file: .html for a page, .json for the payload, .png, .svg or .gif for a figure.
            name: draw the maps whose name contains it; `all` draws every map; None draws the default one.
            heads: draw head by head instead of the mean over heads.
            cells: over an image, draw the cells as they are instead of smoothed.
        """
        ...

    def embed(self, trace: TraceT_contra) -> str:
        """Return HTML that shows the trace in a notebook.

        Args:
            trace: the trace to show.
        """
        ...

    def to_terminal(
        self,
        trace: TraceT_contra,
        *,
        width: int | None = None,
        name: str | None = None,
        heads: bool = False,
        wrap: bool = True,
    ) -> "Text | Table":
        """Return the trace as text with colours for a terminal.

        Args:
            trace: the trace to show.
            width: columns of the terminal; None for those of the terminal in use.
            name: show the maps whose name contains it; `all` shows every map; None shows the default one.
            heads: show head by head instead of the mean over heads.
            wrap: break sentences at the width, too; in a log they are not.
        """
        ...

    def pack(self, trace: TraceT_contra, *, max_weights: int) -> "dict[str, JsonValue]":
        """Return the payload of the trace for a page of many traces.

        Args:
            trace: the trace to pack.
            max_weights: above this number of weights, the payload has the mean over the heads instead of each head.
        """
        ...

    def summarise_drops(self, trace: TraceT_contra) -> list[str]:
        """Return lines that say which parts the output needs most, and how far attention agrees with that.

        Args:
            trace: the trace with its probability drops.
        """
        ...


class OutputTrace(ABC):
    """An explanation of one output: attention weights, and the probability drops of occlusion where they were measured.

    A trace holds numbers and draws nothing: `plot`, `save` and the view in a notebook ask the renderer of its kind.
    """

    kind: ClassVar[str]  # the name of its renderer in the registry
    has_heads: ClassVar[bool]  # whether it shows maps head by head

    run_agreement: AttentionAgreement | None = None  # of the run on held-out inputs; None: the trace is of no run

    @property
    def renderer(self) -> Renderer["OutputTrace"]:
        """Return what draws this trace."""
        renderer: Renderer[OutputTrace] = find("renderer", self.kind)()
        return renderer

    @property
    def has_image(self) -> bool:
        """Return whether the source is an image, over which weights can be drawn."""
        return False

    @property
    def weighs_source(self) -> bool:
        """Return whether parts of the source have attention weights."""
        return True

    @property
    @abstractmethod
    def has_drops(self) -> bool:
        """Return whether probability drops were measured."""

    @property
    def drops_first(self) -> bool:
        """Return whether views show the drops before attention: attention of the run hardly agrees with them."""
        return self.has_drops and self.run_agreement is not None and self.run_agreement.is_weak

    @property
    def caption(self) -> str:
        """Return what views say beside attention: what it is, and whether that of the run agrees with leave-one-out."""
        known = "" if self.run_agreement is None else str(self.run_agreement)
        return " ".join([MEANING, f"{known[:1].upper()}{known[1:]}."] if known else [MEANING])

    @property
    @abstractmethod
    def part_agreement(self) -> RankAgreement | None:
        """Return how far the attention to the smallest parts agrees with their drops; None if it is not known."""

    @abstractmethod
    def with_run_agreement(self, agreement: AttentionAgreement | None) -> "OutputTrace":
        """Return the trace beside what was measured of its run.

        Args:
            agreement: how far the attention of the run agrees with leave-one-out; None: that is not known.
        """

    @abstractmethod
    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the payload of every view and of the JSON file."""

    @abstractmethod
    def list_parts(self, modality: Modality, source: str) -> list[Parts]:
        """Return the parts of the source that occlusion leaves out one at a time, in groups that are ranked apart.

        Args:
            modality: how the source is read.
            source: the source as it was given.
        """

    @abstractmethod
    def with_drops(self, groups: Sequence[Parts], drops: Sequence[Drops]) -> "OutputTrace":
        """Return the trace with the probability drop of every part, and how far attention agrees with them.

        Args:
            groups: the groups of `list_parts`.
            drops: for each group, the drop of each of its parts.
        """

    def to_json(self) -> str:
        """Return the payload as JSON text."""
        return write_payload(self.to_dict())

    def plot(self) -> "Figure":
        """Return a matplotlib figure; save it with `.savefig(...)`."""
        return self.renderer.draw(self)

    def save(self, path: Path | str) -> Path:
        """Write a page (.html), the payload (.json) or a figure (.png, .svg, over an image .gif), and return its path.

        Args:
            path: the file to write; its ending says which of them.
        """
        return self.renderer.save(self, Path(path))

    def _repr_html_(self) -> str:
        return self.renderer.embed(self)
