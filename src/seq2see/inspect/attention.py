"""The attention of one output, as a value that can be drawn, saved and compared."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float32, UInt8

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.data.tokenise import MARKS, START
from seq2see.inspect.payload import write_payload
from seq2see.metrics.rank import RankAgreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# "inputs" is what a decoder reads while it writes the target: the start mark and all tokens but the last;
# "rows" are those of a machine's memory, which stand for no token
Side = Literal["source", "target", "inputs", "rows"]
Picture = UInt8[np.ndarray, "y x 3"]
Grid = tuple[int, int]  # rows and columns of the cells of a picture


@dataclass(frozen=True)
class AttentionMap:
    """The weights one `Attend` of the model used: for each head, query and key."""

    name: str  # the path of the Attend inside the model, such as decoder.reader.attend
    weights: Float32[np.ndarray, "h t s"]
    queries: Side = "target"
    keys: Side = "source"

    @property
    def aligns(self) -> bool:
        """Whether it looks from the target at the source."""
        return (self.queries, self.keys) == ("target", "source")


@dataclass(frozen=True)
class Fall:
    """A word of the source, or a region of the picture by its number: what becomes of the output without it."""

    start: int
    end: int
    fall: float  # of the log-probability of a text, or of the probability of a label
    weight: float | None  # its share of the attention of the whole output, if the model has any to the source


@dataclass(frozen=True)
class AttentionTrace:
    """What the model looked at while it wrote one output."""

    source: str
    target: str
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    maps: tuple[AttentionMap, ...]
    grid: Grid | None = None  # of a source that is a picture; its tokens are its cells, row by row
    picture: Picture | None = None  # as the model saw it; without a grid if the model has no cells to attend to
    rows: tuple[Token, ...] = ()  # of a machine's memory, those that maps show
    falls: tuple[Fall, ...] = ()  # what leaving out each part of the source does, if it was measured
    regions: Grid | None = None  # rows and columns of the parts of a picture that were left out
    agreement: RankAgreement | None = None  # of attention with what leaving out does

    @property
    def weights(self) -> Float32[np.ndarray, "t s"]:
        """The weights of the last map between target and source, averaged over its heads."""
        aligning = [each for each in self.maps if each.aligns]
        if not aligning:
            raise AttentionError("this model has no attention from target to source; see its other maps.")
        return np.asarray(aligning[-1].weights.mean(axis=0), dtype=np.float32)

    def tokens(self, side: Side) -> tuple[Token, ...]:
        """The tokens of one side of a map."""
        if side == "inputs":
            return (Token(MARKS[START], 0, 0), *self.target_tokens[:-1])
        return {"source": self.source_tokens, "target": self.target_tokens, "rows": self.rows}[side]

    def to_dict(self) -> dict[str, Any]:
        """The payload of every view and of the JSON file; weights keep full float32 precision."""
        return {
            "source": self.source,
            "target": self.target,
            "source_tokens": [asdict(token) for token in self.source_tokens],
            "target_tokens": [asdict(token) for token in self.target_tokens],
            "maps": [{**vars(m), "weights": m.weights.tolist()} for m in self.maps],
            "rows": [asdict(token) for token in self.rows],
            **self._picture_to_dict(),
            **self._falls_to_dict(),
        }

    def _picture_to_dict(self) -> dict[str, Any]:
        if self.picture is None:
            return {}
        from seq2see.inspect.overlay import encode_picture

        return {"grid": self.grid and list(self.grid), "picture": encode_picture(self.picture)}

    def _falls_to_dict(self) -> dict[str, Any]:
        if not self.falls:
            return {}
        agreement = None if self.agreement is None else asdict(self.agreement)
        return {"falls": [asdict(each) for each in self.falls], "regions": self.regions, "agreement": agreement}

    def to_json(self) -> str:
        """The same payload as JSON text."""
        return write_payload(self.to_dict())

    def plot(self) -> "Figure":
        """A matplotlib figure of the alignment, over the picture if there is one; save it with `.savefig(...)`."""
        if self.picture is not None and (self.maps or self.regions):
            from seq2see.inspect.overlay import draw_overlays

            return draw_overlays(self)
        from seq2see.inspect.picture import draw_heatmap

        return draw_heatmap(self)

    def save(self, path: Path | str) -> Path:
        """Write a page (.html), the payload (.json) or a picture (.png, .svg, over a picture .gif)."""
        from seq2see.inspect.picture import save_trace

        return save_trace(self, Path(path))

    def _repr_html_(self) -> str:
        from seq2see.inspect.page import embed_trace

        return embed_trace(self)
