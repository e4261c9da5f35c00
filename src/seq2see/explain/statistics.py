"""Statistics of attention: its entropy, its coverage of the source, and heads that are uniform or stuck."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.head_alignment import Units, default_head, merge_trace

COVERED = 0.5  # of the attention of one target word; a source word that got less is not covered
UNIFORM = 0.95  # of the largest possible entropy; a head above it is nearly uniform
STUCK = 0.95  # of all steps; a head that has its largest weight at one position that often is stuck
MIN_STEPS = 20  # before anything is said about a head
MIN_SOURCE_TOKENS = 4  # in a shorter source, one position may well be the right one


@dataclass(frozen=True)
class AttentionStatistics:
    """Means over target tokens and heads, or over source words, of one map.

    Args:
        map: the name of the map.
        entropy: mean over target tokens and heads, in bits.
        normalised_entropy: entropy / log2(source length); 1 is uniform.
        coverage: share of the source words that got at least half of the attention of one target word.
        coverage_error: mean over source words of |1 - the attention that the word got in all|.
        max_weight: mean over target tokens and heads of the largest weight.
        notes: a sentence for each map with heads that are nearly uniform or stuck.
    """

    map: str
    entropy: float
    normalised_entropy: float
    coverage: float
    coverage_error: float
    max_weight: float
    notes: tuple[str, ...] = ()


@dataclass
class HeadStatistics:
    """Counts one head over many outputs.

    Args:
        entropies: the normalised entropy of each target token's weights, from 0 to 1.
        from_start: how often each source position, counted from the first token, had the largest weight of a step.
        from_end: the same, counted from the last token.
    """

    entropies: list[float] = field(default_factory=list)
    from_start: Counter[int] = field(default_factory=Counter)
    from_end: Counter[int] = field(default_factory=Counter)

    def add(self, weights: Float[np.ndarray, "t s"]) -> None:
        """Count one more output; a source of few tokens counts for the entropy alone.

        Args:
            weights: the weights of the head, [t s].
        """
        length = weights.shape[1]
        self.entropies += [normalised for _, normalised, _ in measure_rows(weights[None])]
        if length >= MIN_SOURCE_TOKENS:
            best = weights.argmax(axis=1)
            self.from_start.update(best.tolist())
            self.from_end.update((length - 1 - best).tolist())

    @property
    def is_uniform(self) -> bool:
        """Return whether its weights are nearly equal."""
        return len(self.entropies) >= MIN_STEPS and float(np.mean(self.entropies)) >= UNIFORM

    @property
    def stuck_position(self) -> str | None:
        """Return the position that nearly always has the largest weight, as text; None if there is none."""
        for counts, name in ((self.from_start, "token {} of the source"), (self.from_end, "token {} from the end")):
            (position, hits), total = counts.most_common(1)[0] if counts else (0, 0), counts.total()
            if total >= MIN_STEPS and hits >= STUCK * total:
                return name.format(position + 1)
        return None


def measure_entropy(weights: Float[np.ndarray, "*b s"]) -> Float[np.ndarray, "*b"]:
    """Return -sum w log2 w over the source, in bits; a weight of 0 adds nothing.

    Args:
        weights: weights that sum to 1 over the last axis.
    """
    safe = np.where(weights > 0, weights, 1).astype(np.float64)
    return np.asarray(-(safe * np.log2(safe)).sum(axis=-1))


@dataclass
class StatisticsAccumulator:
    """Collects the statistics of many outputs: the numbers of the default map, and the notes of every map.

    Args:
        units: whether source and target are counted in words or characters.
        name: the name of the default map of the last output.
        rows: for each target token and head the entropy in bits, the normalised entropy and the largest weight.
        received: the attention that each source word got from all target words of its output.
        heads: the statistics of the heads of each map, by its name.
    """

    units: Units
    name: str = ""
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    received: list[float] = field(default_factory=list)
    heads: dict[str, list[HeadStatistics]] = field(default_factory=dict)

    def add(self, trace: AttentionTrace) -> None:
        """Count one more output.

        Args:
            trace: the attention behind it.
        """
        for each in trace.maps:
            heads = self.heads.setdefault(each.name, [HeadStatistics() for _ in each.weights])
            for head, weights in zip(heads, each.weights, strict=True):
                head.add(weights)
        selection = default_head(trace)
        self.name = selection.map
        self.rows += measure_rows(next(each.weights for each in trace.maps if each.name == selection.map))
        self.received += merge_trace(trace, [selection], self.units)[0, :, :-1].sum(axis=0).tolist()

    def result(self) -> AttentionStatistics | None:
        """Return the statistics so far; None if nothing was counted."""
        if not self.rows:
            return None
        entropy, normalised, largest = np.mean(self.rows, axis=0).tolist()
        received = np.array(self.received or [1.0])
        covered, error = float((received >= COVERED).mean()), float(np.abs(received - 1).mean())
        return AttentionStatistics(self.name, entropy, normalised, covered, error, largest, note_odd_heads(self.heads))


def measure_rows(weights: Float[np.ndarray, "h t s"]) -> list[tuple[float, float, float]]:
    """Return the entropy in bits, the normalised entropy and the largest weight of each head and query.

    Args:
        weights: the weights of a map, [h t s].
    """
    entropy = measure_entropy(weights)
    normalised = entropy / max(np.log2(weights.shape[-1]), 1e-9)
    columns = (column.reshape(-1).tolist() for column in (entropy, normalised, weights.max(axis=-1)))
    return list(zip(*columns, strict=True))


def note_odd_heads(maps: dict[str, list[HeadStatistics]]) -> tuple[str, ...]:
    """Return a sentence for each map with heads that are nearly uniform or stuck.

    Args:
        maps: the statistics of the heads of each map, by its name.
    """
    notes = []
    for name, heads in maps.items():
        groups: dict[str, list[int]] = {}
        for number, head in enumerate(heads, 1):
            if head.is_uniform:
                groups.setdefault("nearly uniform: all source tokens get nearly the same weight", []).append(number)
            elif head.stuck_position:
                stuck = f"stuck: {head.stuck_position} nearly always has the largest weight"
                groups.setdefault(stuck, []).append(number)
        for what, numbers in groups.items():
            which = f" (head {', '.join(map(str, numbers))})" if len(heads) > 1 else ""
            notes.append(f"the attention {name}{which} is {what}.")
    return tuple(notes)
