"""Through all layers of a picture's encoder: what its patches were worth to what is read in the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from seq2see.core.trace import Trace
from seq2see.inspect.attention import AttentionMap
from seq2see.inspect.document import SENTENCES

ROLLOUT = "rollout"  # the name of a map that no Attend made

Square = Float32[np.ndarray, "h n n"]


def look_through(trace: Trace, cells: int, pool: Any) -> list[AttentionMap]:
    """The maps behind a label, over the cells of a picture; the last of them says most.

    Of a class token: its look at the patches in each layer, head by head. Else: each patch's look at the others. Then
    the rollout through all layers, and last the weights of the pool itself, if it has any.
    """
    seen = {name: np.asarray(trace.weights(name)[0].float().numpy()) for name in trace.names}
    layers = {name: weights for name, weights in seen.items() if _is_own(weights, cells)}
    pooled = seen[SENTENCES][0, 0] if SENTENCES in seen else None
    reads = getattr(pool, "reads", "parts")
    maps = [_show_layer(name, weights, cells, reads) for name, weights in layers.items()]
    width = max((weights.shape[1] for weights in layers.values()), default=cells)
    start = _start(width - cells, cells, reads, pooled)
    if layers and start is not None:
        rolled = roll_out([weights.mean(axis=0) for weights in layers.values()], start)[-cells:]
        maps.append(AttentionMap(ROLLOUT, rolled.astype(np.float32).reshape(1, 1, cells)))
    return maps if pooled is None else [*maps, AttentionMap(SENTENCES, pooled.reshape(1, 1, cells))]


def roll_out(layers: Sequence[Float[np.ndarray, "n n"]], start: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Abnar & Zuidema 2020: back through the layers; half of a position goes by attention, and half straight."""
    for weights in reversed(layers):
        start = (start @ weights + start) / 2
    return start


def _start(
    tokens: int, cells: int, reads: str, pooled: Float32[np.ndarray, " c"] | None
) -> Float[np.ndarray, " n"] | None:
    """What the label is read from: the class token, the patches that the pool weighs, or all patches alike."""
    if pooled is not None:
        return np.concatenate([np.zeros(tokens), pooled])
    if reads == "summary" and tokens:
        return np.eye(tokens + cells)[0]
    even = np.concatenate([np.zeros(tokens), np.full(cells, 1 / cells)])
    return even if reads in ("alike", "summary") else None


def _show_layer(name: str, weights: Square, cells: int, reads: str) -> AttentionMap:
    """A class token's look at the patches, if the label is read from it; else that of the patches at each other."""
    if weights.shape[1] > cells and reads == "summary":
        return AttentionMap(name, weights[:, :1, -cells:])
    return AttentionMap(name, weights[:, -cells:, -cells:], queries="source")


def _is_own(weights: Float32[np.ndarray, "h t s"], cells: int) -> bool:
    """Whether all patches look at all patches, and perhaps a class token in front of them does, too."""
    return weights.shape[1] == weights.shape[2] and cells <= weights.shape[1] <= cells + 1 and cells > 1
