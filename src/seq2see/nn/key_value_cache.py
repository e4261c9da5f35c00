"""The cache of keys and values that self-attention has computed for the tokens so far."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from seq2see.nn.multihead import KeysValues

GROWTH_POSITIONS = 8  # free positions that a full cache gets; beam search copies them, too, when it reorders


@dataclass
class Written:
    """Counts the positions of a cache that are in use; a cache that is copied gets a count of its own.

    Args:
        positions: how many they are.
    """

    positions: int = 0


@dataclass(frozen=True)
class KeyValueCache:
    """Holds the keys and values of the tokens so far, with room for c tokens in all.

    Several states may share one cache: `written` counts the positions that are in use, so that a state that is
    continued a second time does not overwrite what its first continuation wrote.

    Args:
        keys: the prepared keys of each head, [n h c _]; what is beyond `written` is undefined.
        values: the values of each head, [n h c d]; what is beyond `written` is undefined.
        written: how many positions are in use, the same number in every row.
    """

    keys: Float[Tensor, "n h c _"]
    values: Float[Tensor, "n h c d"]
    written: Written


def append(cache: KeyValueCache, length: int, new: KeysValues) -> KeyValueCache:
    """Return the cache with one more position after the first `length`; written in place if that position is free.

    With gradients nothing is written in place, because the backward pass needs the values from before.

    Args:
        cache: the cache of a state.
        length: how many of its positions belong to that state.
        new: the prepared keys [n h 1 _] and the values [n h 1 d] of the new position.
    """
    if torch.is_grad_enabled():
        keys = torch.cat([cache.keys[:, :, :length], new.keys], dim=2)
        values = torch.cat([cache.values[:, :, :length], new.values], dim=2)
        return KeyValueCache(keys, values, Written(length + 1))
    taken = cache.written.positions > length
    if taken or length == cache.keys.shape[2]:
        cache = _grow(cache, length)
    cache.keys[:, :, length] = new.keys[:, :, 0]
    cache.values[:, :, length] = new.values[:, :, 0]
    cache.written.positions = length + 1
    return cache


def _grow(cache: KeyValueCache, length: int) -> KeyValueCache:
    """Copy the first `length` positions into a larger cache."""

    def copy(tensor: Tensor) -> Tensor:
        rows, heads, _, size = tensor.shape
        grown = tensor.new_empty(rows, heads, length + GROWTH_POSITIONS, size)
        grown[:, :, :length] = tensor[:, :, :length]
        return grown

    return replace(cache, keys=copy(cache.keys), values=copy(cache.values), written=Written(length))
