"""Numbers about attention: how spread it is, what it covers, and whether it looks at anything at all."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from seq2see.inspect.alignment import Units, default_choice, merge_trace
from seq2see.inspect.attention import AttentionTrace

COVERED = 0.5  # of a whole target word's attention; a source word that got less was overlooked
UNIFORM = 0.95  # of the greatest possible entropy; above, a head hardly chooses
FIXED = 0.95  # of all steps; a head that looks at one place that often does not read
ENOUGH = 20  # steps, before anything is said about them
LONG = 4  # tokens; in a shorter source, one place may well be the right one


@dataclass(frozen=True)
class Measures:
    """Means over target tokens and heads (entropy, peak) or source words (coverage, deviation) of one map."""

    map: str
    entropy: float  # in bits
    spread: float  # entropy as a share of log2(source length): 1 is uniform
    coverage: float  # share of source words that got at least half of one target word's attention
    deviation: float  # how far the attention that a source word got in all is from 1
    peak: float  # the largest weight
    notes: tuple[str, ...] = ()  # what is odd about any map


@dataclass
class Gauge:
    """What was seen of one head."""

    spread: list[float] = field(default_factory=list)
    fronts: Counter[int] = field(default_factory=Counter)  # the place looked at most, from the first token on
    backs: Counter[int] = field(default_factory=Counter)  # the same, from the last one back

    def see(self, weights: Float[np.ndarray, "t s"]) -> None:
        """Take one more output into account."""
        length = weights.shape[1]
        self.spread += [spread for _, spread, _ in measure_rows(weights[None])]
        if length >= LONG:
            best = weights.argmax(axis=1)
            self.fronts.update(best.tolist())
            self.backs.update((length - 1 - best).tolist())

    @property
    def uniform(self) -> bool:
        """Whether it looks at everything alike."""
        return len(self.spread) >= ENOUGH and float(np.mean(self.spread)) >= UNIFORM

    @property
    def fixed(self) -> str | None:
        """The place it always looks at, if there is one."""
        for counts, name in ((self.fronts, "token {} of the source"), (self.backs, "token {} from the end")):
            (place, hits), total = counts.most_common(1)[0] if counts else (0, 0), counts.total()
            if total >= ENOUGH and hits >= FIXED * total:
                return name.format(place + 1)
        return None


def measure_entropy(weights: Float[np.ndarray, "*b s"]) -> Float[np.ndarray, "*b"]:
    """-sum w log2 w over the source, in bits; a weight of 0 adds nothing."""
    safe = np.where(weights > 0, weights, 1).astype(np.float64)
    return np.asarray(-(safe * np.log2(safe)).sum(axis=-1))


@dataclass
class Meter:
    """What was seen of many outputs: of the default map for the measures, of every map for the notes."""

    units: Units
    name: str = ""
    rows: list[tuple[float, float, float]] = field(default_factory=list)  # entropy, spread, peak
    got: list[float] = field(default_factory=list)  # the attention of each source word in all
    gauges: dict[str, list[Gauge]] = field(default_factory=dict)

    def see(self, trace: AttentionTrace) -> None:
        """Take one more output into account."""
        for each in trace.maps:
            heads = self.gauges.setdefault(each.name, [Gauge() for _ in each.weights])
            for gauge, weights in zip(heads, each.weights, strict=True):
                gauge.see(weights)
        choice = default_choice(trace)
        self.name = choice.map
        self.rows += measure_rows(next(each.weights for each in trace.maps if each.name == choice.map))
        self.got += merge_trace(trace, [choice], self.units)[0, :, :-1].sum(axis=0).tolist()

    def read(self) -> Measures | None:
        """The measures so far; None if nothing was seen."""
        if not self.rows:
            return None
        entropy, spread, peak = np.mean(self.rows, axis=0).tolist()
        got = np.array(self.got or [1.0])
        covered, off = float((got >= COVERED).mean()), float(np.abs(got - 1).mean())
        return Measures(self.name, entropy, spread, covered, off, peak, note_oddities(self.gauges))


def measure_rows(weights: Float[np.ndarray, "h t s"]) -> list[tuple[float, float, float]]:
    """Entropy, spread and peak of each row."""
    entropy = measure_entropy(weights)
    spread = entropy / max(np.log2(weights.shape[-1]), 1e-9)
    columns = (column.reshape(-1).tolist() for column in (entropy, spread, weights.max(axis=-1)))
    return list(zip(*columns, strict=True))


def note_oddities(gauges: dict[str, list[Gauge]]) -> tuple[str, ...]:
    """A sentence for each map whose heads are nearly uniform or always look at one place."""
    notes = []
    for name, heads in gauges.items():
        groups: dict[str, list[int]] = {}
        for number, gauge in enumerate(heads, 1):
            if gauge.uniform:
                groups.setdefault("nearly uniform: it looks at everything alike", []).append(number)
            elif gauge.fixed:
                groups.setdefault(f"stuck: it nearly always looks at {gauge.fixed}", []).append(number)
        for what, numbers in groups.items():
            which = f" (head {', '.join(map(str, numbers))})" if len(heads) > 1 else ""
            notes.append(f"the attention {name}{which} is {what}.")
    return tuple(notes)
