"""A panel: the part of a figure that shows one attention map, averaged over its heads, or one head of it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import suggest
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace

NO_ATTENTION = "This model has no attention to show."
NO_TOKENS = "There are no tokens to align."


@dataclass(frozen=True)
class Panel:
    """The weights of one panel, with a title and the tokens of its rows and columns.

    Args:
        title: the name of the map, and which head it shows or of how many heads it is the mean.
        weights: [t s], each row sums to 1 over the keys.
        rows: the t query tokens, which are written beside the weights.
        columns: the s key tokens, which are written above the weights.
    """

    title: str
    weights: Float32[np.ndarray, "t s"]
    rows: tuple[Token, ...]
    columns: tuple[Token, ...]


def list_panels(trace: AttentionTrace, *, name: str | None = None, heads: bool = False) -> list[Panel]:
    """Return the panels of the chosen maps, in the order of the maps and their heads.

    Args:
        trace: the trace that holds the maps.
        name: the name of a map, or a part of it, or `all`; None chooses the cross-attention maps.
        heads: whether to return a panel for each head instead of one with their mean.

    Raises:
        Seq2SeeError: no map has this name, or a map has another shape than its tokens.
    """
    maps = [check_map(each, trace=trace) for each in find_maps(trace, name)]
    return [panel for each in maps for panel in (_split_heads(each, trace) if heads else [_average_heads(each, trace)])]


def find_maps(trace: AttentionTrace, name: str | None) -> list[AttentionMap]:
    """Return the maps with a given name.

    Args:
        trace: the trace that holds the maps.
        name: the name of a map; if no map is called so, all maps whose name contains it; `all` chooses every map. None
            chooses the maps from target to source, or every map if there are none.

    Raises:
        Seq2SeeError: no map has this name.
    """
    if name is None:
        return [each for each in trace.maps if each.is_cross_attention] or list(trace.maps)
    exact = [each for each in trace.maps if name == each.name]
    found = exact or [each for each in trace.maps if name == "all" or name in each.name]
    if not found:
        known = [each.name for each in trace.maps]
        raise Seq2SeeError(f"there is no map {name!r}{suggest(name, known)} (known: {', '.join(known)}, all).")
    return found


def check_map(map_: AttentionMap, *, trace: AttentionTrace) -> AttentionMap:
    """Return the map unchanged, if it has one row for each query token and one column for each key token.

    Args:
        map_: the map to check.
        trace: the trace that holds the tokens of both sides.

    Raises:
        Seq2SeeError: the map has another shape.
    """
    expected = (len(trace.tokens(map_.queries)), len(trace.tokens(map_.keys)))
    if map_.weights.shape[1:] != expected:
        form = f"{{}} {map_.queries} x {{}} {map_.keys}"
        needs, has = (form.format(*shape) for shape in (expected, map_.weights.shape[1:]))
        raise Seq2SeeError(
            f"The map {map_.name} must have {needs} positions, but has {has};"
            " trace one attention between these sides only."
        )
    return map_


def explain_nothing(trace: AttentionTrace) -> str | None:
    """Return a sentence that says why there is nothing to draw, or None if there is something.

    Args:
        trace: the trace; without maps, or without tokens on one side, it cannot be drawn.
    """
    if not trace.maps:
        return NO_ATTENTION
    return None if trace.source_tokens and trace.target_tokens else NO_TOKENS


def _average_heads(map_: AttentionMap, trace: AttentionTrace) -> Panel:
    heads = map_.weights.shape[0]
    title = map_.name if heads == 1 else f"{map_.name}, mean of {heads} heads"
    return _frame(title, np.asarray(map_.weights.mean(axis=0), dtype=np.float32), map_, trace)


def _split_heads(map_: AttentionMap, trace: AttentionTrace) -> list[Panel]:
    if len(map_.weights) == 1:
        return [_average_heads(map_, trace)]
    return [_frame(f"{map_.name}, head {n}", weights, map_, trace) for n, weights in enumerate(map_.weights, 1)]


def _frame(title: str, weights: Float32[np.ndarray, "t s"], map_: AttentionMap, trace: AttentionTrace) -> Panel:
    return Panel(title, weights, rows=trace.tokens(map_.queries), columns=trace.tokens(map_.keys))
