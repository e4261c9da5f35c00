"""Attention rollout through the layers of an image encoder (Abnar & Zuidema 2020, arXiv:2005.00928)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32
from torch import nn

from seq2see.core.trace import Trace
from seq2see.explain.attention_trace import AttentionMap
from seq2see.explain.document_attention import LAST_POOL

ROLLOUT = "rollout"  # the name of the map that no Attend made

SquareWeights = Float32[np.ndarray, "h n n"]


def list_image_maps(trace: Trace, cells: int, pool: nn.Module) -> list[AttentionMap]:
    """Return the maps behind a label, over the cells of an image; the last of them is shown first.

    With a class token: its attention to the patches in each layer, head by head. Without: the self-attention of the
    patches. Then the rollout through all layers, and last the weights of the pool itself, if it has any.

    Args:
        trace: the attention of one image.
        cells: how many cells, or patches, the image has.
        pool: what reads the label off them; a pool of somebody's own may not say what it `reads`.
    """
    found = {name: np.asarray(trace.weights(name)[0].float().cpu().numpy()) for name in trace.names}
    layers = {name: weights for name, weights in found.items() if _is_self_attention(weights, cells)}
    pooled = found[LAST_POOL][0, 0] if LAST_POOL in found else None
    reads = str(getattr(pool, "reads", "parts"))
    maps = [_read_layer(name, weights, cells, reads) for name, weights in layers.items()]
    width = max((weights.shape[1] for weights in layers.values()), default=cells)
    start = _start_rollout(width - cells, cells, reads, pooled)
    if layers and start is not None:
        rolled = roll_out([weights.mean(axis=0) for weights in layers.values()], start)[-cells:]
        maps.append(AttentionMap(ROLLOUT, rolled.astype(np.float32).reshape(1, 1, cells)))
    return maps if pooled is None else [*maps, AttentionMap(LAST_POOL, pooled.reshape(1, 1, cells))]


def roll_out(layers: Sequence[Float[np.ndarray, "n n"]], start: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return r_1, where r_l = r_(l+1) (A_l + I) / 2: half of a position goes by attention, half by the residual.

    Args:
        layers: A_1 to A_L, the attention of each layer, averaged over its heads.
        start: r_(L+1), the weight of each position in what is read in the end.
    """
    for weights in reversed(layers):
        start = (start @ weights + start) / 2
    return start


def _start_rollout(
    class_tokens: int, cells: int, reads: str, pooled: Float32[np.ndarray, " c"] | None
) -> Float[np.ndarray, " n"] | None:
    """Return what the label is read from: the class token, the patches by the weights of the pool, or all alike."""
    if pooled is not None:
        return np.concatenate([np.zeros(class_tokens), pooled])
    if reads == "summary" and class_tokens:
        return np.eye(class_tokens + cells)[0]
    uniform = np.concatenate([np.zeros(class_tokens), np.full(cells, 1 / cells)])
    return uniform if reads in ("alike", "summary") else None


def _read_layer(name: str, weights: SquareWeights, cells: int, reads: str) -> AttentionMap:
    """Return the attention of the class token, if the label is read from it; else the self-attention of the patches."""
    if weights.shape[1] > cells and reads == "summary":
        return AttentionMap(name, weights[:, :1, -cells:])
    return AttentionMap(name, weights[:, -cells:, -cells:], queries="source")


def _is_self_attention(weights: Float32[np.ndarray, "h t s"], cells: int) -> bool:
    """Whether all patches attend to all patches, perhaps with a class token in front of them."""
    return weights.shape[1] == weights.shape[2] and cells <= weights.shape[1] <= cells + 1 and cells > 1
