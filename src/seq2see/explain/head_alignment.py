"""Word alignments from attention, by a selected map and head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from seq2see.core.errors import AttentionError
from seq2see.core.registry import suggest
from seq2see.core.words import Unit, choose_unit, find_words
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.metrics.alignment import Links, link_words, merge_words

Units = tuple[Unit, Unit]  # of source and target


@dataclass(frozen=True)
class HeadSelection:
    """One head of one map, or the mean over its heads.

    Args:
        map: the name of the map.
        heads: how many heads the map has.
        head: the head, counted from 1; None is the mean over all.
    """

    map: str
    heads: int
    head: int | None = None

    def __str__(self) -> str:
        if self.heads == 1:
            return self.map
        return f"{self.map}, mean of {self.heads} heads" if self.head is None else f"{self.map}, head {self.head}"


def list_heads(trace: AttentionTrace) -> list[HeadSelection]:
    """Return the mean over the heads of every map, and each head if there are several.

    Args:
        trace: the attention behind an output.
    """
    selections = []
    for each in trace.maps:
        count = each.weights.shape[0]
        heads = range(1, count + 1) if count > 1 else ()
        selections += [HeadSelection(each.name, count, head) for head in (None, *heads)]
    return selections


def default_head(trace: AttentionTrace) -> HeadSelection:
    """Return the mean over heads of the only map; of several, the last but one (Garg et al. 2019, arXiv:1909.02074).

    Args:
        trace: the attention behind an output.
    """
    chosen = trace.maps[-2 if len(trace.maps) > 1 else -1]
    return HeadSelection(chosen.name, chosen.weights.shape[0])


def find_head(trace: AttentionTrace, name: str | None, head: int | None) -> HeadSelection:
    """Return the named map and head; without a name, the default map.

    Args:
        trace: the attention behind an output.
        name: the name of a map; None for the map of `default_head`.
        head: the head, counted from 1; None for the mean over heads.

    Raises:
        AttentionError: if there is no such map or head.
    """
    chosen = _find_map(trace, name or default_head(trace).map)
    count = chosen.weights.shape[0]
    if head is not None and not 1 <= head <= count:
        raise AttentionError(f"the map {chosen.name} has the heads 1 to {count}; got {head}.")
    return HeadSelection(chosen.name, count, head if count > 1 else None)


def select_weights(trace: AttentionTrace, selection: HeadSelection) -> Float[np.ndarray, "t s"]:
    """Return the weights of a selection, [t s].

    Args:
        trace: the attention behind an output.
        selection: a head, or the mean over all heads of a map.
    """
    weights = _find_map(trace, selection.map).weights
    return np.asarray(weights.mean(axis=0) if selection.head is None else weights[selection.head - 1])


def choose_units(sources: Sequence[str], targets: Sequence[str]) -> Units:
    """Return whether each side is counted in words or characters, one unit for all texts of a side.

    Args:
        sources: the source texts.
        targets: the target texts.
    """
    return choose_unit(sources), choose_unit(targets)


def merge_trace(trace: AttentionTrace, selections: Sequence[HeadSelection], units: Units) -> Float[np.ndarray, "h _ _"]:
    """Return the weights between words for each selection; the last column is what no source word got.

    Args:
        trace: the attention behind an output.
        selections: the heads to read.
        units: whether source and target are counted in words or characters.

    Returns:
        For each selection a row for each target word, and a column for each source word and one for the rest.
    """
    weights = np.stack([select_weights(trace, selection) for selection in selections])
    return merge_words(
        weights,
        (trace.source_tokens, find_words(trace.source, units[0])),
        (trace.target_tokens, find_words(trace.target, units[1])),
    )


def link_trace(
    trace: AttentionTrace, selections: Sequence[HeadSelection], units: Units, *, threshold: float = 0.0
) -> list[Links]:
    """Return the links between words for each selection.

    Args:
        trace: the attention behind an output.
        selections: the heads to read.
        units: whether source and target are counted in words or characters.
        threshold: the smallest weight that makes a link, from 0 to 1; each target word has at most one link.
    """
    return [link_words(merged, threshold=threshold) for merged in merge_trace(trace, selections, units)]


def _find_map(trace: AttentionTrace, name: str) -> AttentionMap:
    known = {each.name: each for each in trace.maps}
    if name not in known:
        hint = suggest(name, list(known))
        raise AttentionError(f"there is no attention map named {name!r}{hint} (known: {', '.join(known)}).")
    return known[name]
