"""The attention maps of one output, as a value that can be drawn, saved and compared."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Float32

from seq2see.core.box import Box
from seq2see.core.errors import AttentionError
from seq2see.core.special_tokens import SPECIAL_TOKENS, START
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.data.modalities.image_cells import choose_regions, find_cells
from seq2see.data.modalities.modality import Grid, Modality
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.image_grid import ImageArray, encode_image
from seq2see.explain.output_trace import Drops, OutputTrace, Parts
from seq2see.metrics.rank import RankAgreement, compare_ranks

if TYPE_CHECKING:
    from pydantic import JsonValue


# "inputs" is what a decoder reads while it writes the target: the start mark and all tokens but the last;
# "memory_rows" are those of a memory matrix (Graves et al. 2014, arXiv:1410.5401), which belong to no token
Side = Literal["source", "target", "inputs", "memory_rows"]


@dataclass(frozen=True)
class AttentionMap:
    """The weights that one `Attend` of the model used, for each head, query and key.

    Args:
        name: the path of the Attend inside the model, such as decoder.reader.attend.
        weights: the weights, [h t s]; each row sums to 1 over the keys.
        queries: which side the t queries are.
        keys: which side the s keys are.
    """

    name: str
    weights: Float32[np.ndarray, "h t s"]
    queries: Side = "target"
    keys: Side = "source"

    @property
    def is_cross_attention(self) -> bool:
        """Return whether the target attends to the source."""
        return (self.queries, self.keys) == ("target", "source")


@dataclass(frozen=True)
class ProbabilityDrop:
    """How much less probable the output is without one part of the source.

    Args:
        start: where the part begins in the source, in characters; of an image, the number of the region, from 0.
        end: where it ends, in characters; of an image, the number of the next region.
        drop: the drop of the log-probability of a text (in nats), or of the probability of a label.
        weight: the share of the attention of the whole output that the part got, of an image with the surroundings
            that were occluded too; None without cross-attention.
        text: the part as text; empty for a region of an image.
    """

    start: int
    end: int
    drop: float
    weight: float | None
    text: str = ""


@dataclass(frozen=True)
class AttentionTrace(OutputTrace):
    """Every attention map behind one output.

    Args:
        source: the source text; of an image, its path or name.
        target: the output text, or the label.
        source_tokens: the tokens of the source with offsets into it; of an image its cells, row by row.
        target_tokens: the tokens of the output with offsets into it and, where they are known, confidences.
        maps: the maps, in the order in which the model used them; empty without attention.
        grid: rows and columns of the cells of an image; None if the source is no image or has no cells.
        image: the pixels as the model was given them, [y x 3]; None if the source is no image.
        memory_rows: the rows of a memory matrix that maps show.
        drops: the probability drop of each part of the source; empty if occlusion was not measured.
        regions: rows and columns of the regions of an image that were occluded; None without them.
        agreement: how far the attention to the parts agrees with their drops; None if there is nothing to compare.
        run_agreement: the same of the run on held-out inputs; None if the trace is of no run.
    """

    kind: ClassVar[str] = "attention"
    has_heads: ClassVar[bool] = True

    source: str
    target: str
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    maps: tuple[AttentionMap, ...]
    grid: Grid | None = None
    image: ImageArray | None = None
    memory_rows: tuple[Token, ...] = ()
    drops: tuple[ProbabilityDrop, ...] = ()
    regions: Grid | None = None
    agreement: RankAgreement | None = None
    run_agreement: AttentionAgreement | None = None

    @property
    def weighs_source(self) -> bool:
        """Return whether a map goes from the target to the source."""
        return any(each.is_cross_attention for each in self.maps)

    @property
    def caption(self) -> str:
        """Return what attention is, and whether that of the run agrees with leave-one-out; empty without maps."""
        return super().caption if self.maps else ""

    @property
    def has_drops(self) -> bool:
        """Return whether `drops` has any."""
        return bool(self.drops)

    @property
    def part_agreement(self) -> RankAgreement | None:
        """Return `agreement`."""
        return self.agreement

    def with_run_agreement(self, agreement: AttentionAgreement | None) -> "AttentionTrace":
        """Return the trace beside what was measured of its run."""
        return replace(self, run_agreement=agreement)

    @property
    def weights(self) -> Float32[np.ndarray, "t s"]:
        """Return the weights of the last cross-attention map, averaged over its heads."""
        crossing = [each for each in self.maps if each.is_cross_attention]
        if not crossing:
            raise AttentionError("this model has no attention from target to source; see its other maps.")
        return np.asarray(crossing[-1].weights.mean(axis=0), dtype=np.float32)

    @property
    def has_image(self) -> bool:
        """Return whether the pixels of an image source are known."""
        return self.image is not None

    def tokens(self, side: Side) -> tuple[Token, ...]:
        """Return the tokens of one side of a map.

        Args:
            side: source or target; inputs, the start mark and all tokens of the target but the last; or memory_rows.
        """
        if side == "inputs":
            return (Token(SPECIAL_TOKENS[START], 0, 0), *self.target_tokens[:-1])
        sides = {"source": self.source_tokens, "target": self.target_tokens, "memory_rows": self.memory_rows}
        return sides[side]

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the payload of every view and of the JSON file; weights keep full float32 precision."""
        payload: dict[str, JsonValue] = {
            "source": self.source,
            "target": self.target,
            "source_tokens": [asdict(token) for token in self.source_tokens],
            "target_tokens": [asdict(token) for token in self.target_tokens],
            "maps": [{**vars(each), "weights": each.weights.tolist()} for each in self.maps],
            "memory_rows": [asdict(token) for token in self.memory_rows],
        }
        if self.image is not None:
            payload |= {"grid": self.grid and list(self.grid), "image": encode_image(self.image)}
        if self.drops:
            payload["drops"] = [asdict(each) for each in self.drops]
            payload["regions"] = self.regions and list(self.regions)
            payload["agreement"] = None if self.agreement is None else asdict(self.agreement)
        if self.run_agreement is not None:
            payload["run_agreement"] = self.run_agreement.to_dict()
        return payload

    def list_parts(self, modality: Modality, source: str) -> list[Parts]:
        """Return one group: the words of a text, the sentences of a document, or the regions of an image."""
        return [modality.occlusion_units(source, self._choose_regions())]

    def with_drops(self, groups: Sequence[Parts], drops: Sequence[Drops]) -> "AttentionTrace":
        """Return the trace with the drop of each part beside its share of the last cross-attention, if there is any."""
        ((parts,), (found,)) = groups, drops
        mean = self.weights.mean(axis=0) if self.weighs_source else None
        if self.image is None and self.grid is None:
            spans = [(part[0], part[1]) for part in parts if isinstance(part, tuple)]
            return self._compare(spans, found, None if mean is None else self._sum_spans(spans, mean), None)
        numbers = [(number, number + 1) for number in range(len(parts))]
        shares = None
        if mean is not None and self.grid is not None:
            shares = (find_cells([part for part in parts if isinstance(part, Box)], self.grid) @ mean).tolist()
        return self._compare(numbers, found, shares, self._choose_regions())

    def _choose_regions(self) -> Grid:
        return choose_regions(self.grid, None if self.image is None else len(self.image))

    def _sum_spans(self, spans: Sequence[Span], weights: Float[np.ndarray, " s"]) -> list[float]:
        """Sum the weights of the tokens of each span; marks such as the end of text belong to none.

        A token that is longer than a span, such as a word where letters are left out, is divided by its characters.
        """
        starts, ends = (np.array([span[side] for span in spans], dtype=np.int64) for side in (0, 1))
        sums = np.zeros(len(spans))
        for token, weight in zip(self.source_tokens, weights.tolist(), strict=True):
            shared = np.clip(np.minimum(ends, token.end) - np.maximum(starts, token.start), 0, None)
            sums += weight * shared / max(shared.sum(), 1)
        return [float(each) for each in sums]

    def _compare(
        self, spans: Sequence[Span], drops: Drops, weights: Sequence[float] | None, regions: Grid | None
    ) -> "AttentionTrace":
        shares: Sequence[float | None] = [None] * len(spans) if weights is None else weights
        agreement = None if weights is None or len(spans) < 2 else compare_ranks(weights, drops.tolist())
        texts = ["" if regions else self.source[start:end] for start, end in spans]
        parts = zip(spans, drops.tolist(), shares, texts, strict=True)
        found = tuple(ProbabilityDrop(*span, drop, share, text) for span, drop, share, text in parts)
        return replace(self, drops=found, regions=regions, agreement=agreement)
