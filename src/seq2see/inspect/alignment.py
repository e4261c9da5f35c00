"""Which words of a trace belong together, by a map and head of one's choice."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from seq2see.core.errors import AttentionError
from seq2see.core.registry import suggest
from seq2see.core.word import Unit, choose_unit, find_words
from seq2see.inspect.attention import AttentionMap, AttentionTrace
from seq2see.metrics.alignment import Links, link_words, merge_words

Units = tuple[Unit, Unit]  # of source and target


@dataclass(frozen=True)
class Choice:
    """One head of one map, or the mean over its heads."""

    map: str
    heads: int  # that the map has
    head: int | None = None  # counted from 1; None: the mean of all

    def __str__(self) -> str:
        if self.heads == 1:
            return self.map
        return f"{self.map}, mean of {self.heads} heads" if self.head is None else f"{self.map}, head {self.head}"


def list_choices(trace: AttentionTrace) -> list[Choice]:
    """Every map with the mean of its heads, and with each head if there are several."""
    choices = []
    for each in trace.maps:
        count = each.weights.shape[0]
        heads = range(1, count + 1) if count > 1 else ()
        choices += [Choice(each.name, count, head) for head in (None, *heads)]
    return choices


def default_choice(trace: AttentionTrace) -> Choice:
    """The mean over the heads of the only map; of several, the last but one (Garg et al. 2019, for a Transformer)."""
    chosen = trace.maps[-2 if len(trace.maps) > 1 else -1]
    return Choice(chosen.name, chosen.weights.shape[0])


def find_choice(trace: AttentionTrace, name: str | None, head: int | None) -> Choice:
    """The map and head that somebody asked for; without a name, the default map."""
    chosen = _find_map(trace, name or default_choice(trace).map)
    count = chosen.weights.shape[0]
    if head is not None and not 1 <= head <= count:
        raise AttentionError(f"the map {chosen.name} has the heads 1 to {count}; got {head}.")
    return Choice(chosen.name, count, head if count > 1 else None)


def pick_weights(trace: AttentionTrace, choice: Choice) -> Float[np.ndarray, "t s"]:
    """The weights of a choice."""
    weights = _find_map(trace, choice.map).weights
    return np.asarray(weights.mean(axis=0) if choice.head is None else weights[choice.head - 1])


def choose_units(sources: Sequence[str], targets: Sequence[str]) -> Units:
    """Words or characters, for each side."""
    return choose_unit(sources), choose_unit(targets)


def merge_trace(trace: AttentionTrace, choices: Sequence[Choice], units: Units) -> Float[np.ndarray, "h _ _"]:
    """The weights between words for each choice; the last column is what no source word got."""
    weights = np.stack([pick_weights(trace, choice) for choice in choices])
    return merge_words(
        weights,
        (trace.source_tokens, find_words(trace.source, units[0])),
        (trace.target_tokens, find_words(trace.target, units[1])),
    )


def link_trace(
    trace: AttentionTrace, choices: Sequence[Choice], units: Units, *, threshold: float = 0.0
) -> list[Links]:
    """The links between words for each choice."""
    return [link_words(merged, threshold=threshold) for merged in merge_trace(trace, choices, units)]


def _find_map(trace: AttentionTrace, name: str) -> AttentionMap:
    known = {each.name: each for each in trace.maps}
    if name not in known:
        hint = suggest(name, list(known))
        raise AttentionError(f"there is no attention map named {name!r}{hint} (known: {', '.join(known)}).")
    return known[name]
