"""A panel: one attention map as the flat pictures show it, averaged over its heads."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from seq2see.core.errors import Seq2SeeError
from seq2see.inspect.attention import AttentionMap, AttentionTrace

NO_ATTENTION = "This model has no attention to show."
NO_TOKENS = "There are no tokens to align."


@dataclass(frozen=True)
class Panel:
    """The weights to draw, and a title that says whether they are an average."""

    title: str
    weights: Float32[np.ndarray, "t s"]


def list_panels(trace: AttentionTrace) -> list[Panel]:
    """One panel for each map of the trace."""
    return [_average_heads(check_map(each, trace=trace)) for each in trace.maps]


def check_map(map_: AttentionMap, *, trace: AttentionTrace) -> AttentionMap:
    """The map itself, if it has one row for each target token and one column for each source token."""
    expected = (len(trace.target_tokens), len(trace.source_tokens))
    if map_.weights.shape[1:] != expected:
        needs, has = ("{} target x {} source".format(*shape) for shape in (expected, map_.weights.shape[1:]))
        raise Seq2SeeError(
            f"The map {map_.name} must have {needs} positions, but has {has};"
            " trace the attention between source and target only."
        )
    return map_


def explain_nothing(trace: AttentionTrace) -> str | None:
    """Why there is nothing to draw, or None if there is something."""
    if not trace.maps:
        return NO_ATTENTION
    return None if trace.source_tokens and trace.target_tokens else NO_TOKENS


def _average_heads(map_: AttentionMap) -> Panel:
    heads = map_.weights.shape[0]
    title = map_.name if heads == 1 else f"{map_.name}, mean of {heads} heads"
    return Panel(title, np.asarray(map_.weights.mean(axis=0), dtype=np.float32))
