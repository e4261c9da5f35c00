"""A cache: keys and values of what was read so far, with room for more."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.nn.multihead import Remembered

BLOCK = 8  # positions by which a cache grows; a beam copies free ones, too, when it changes its order


@dataclass(frozen=True)
class Cache:
    """Keys and values of the tokens so far, with room for further ones.

    The room may be shared by several states: `written` counts what is in it, so that a state that is continued a
    second time does not overwrite what its first continuation wrote.
    """

    keys: Float[Tensor, "n h c _"]
    values: Float[Tensor, "n h c d"]
    written: Int[Tensor, " n"]


def append(cache: Cache, length: int, new: Remembered) -> Cache:
    """The cache with one position more behind the first `length`; in place if that room is free.

    Where gradients are kept nothing may be written in place, for the backward pass needs what was there.
    """
    if torch.is_grad_enabled():
        keys = torch.cat([cache.keys[:, :, :length], new.keys], dim=2)
        values = torch.cat([cache.values[:, :, :length], new.values], dim=2)
        return Cache(keys, values, torch.full_like(cache.written, length + 1))
    taken = int(cache.written[0]) > length
    if taken or length == cache.keys.shape[2]:
        cache = _make_room(cache, length)
    cache.keys[:, :, length] = new.keys[:, :, 0]
    cache.values[:, :, length] = new.values[:, :, 0]
    cache.written.fill_(length + 1)
    return cache


def _make_room(cache: Cache, length: int) -> Cache:
    """A copy of the first `length` positions with a block of free ones behind them."""

    def copy(tensor: Tensor) -> Tensor:
        rows, heads, _, size = tensor.shape
        grown = tensor.new_empty(rows, heads, length + BLOCK, size)
        grown[:, :, :length] = tensor[:, :, :length]
        return grown

    return replace(
        cache, keys=copy(cache.keys), values=copy(cache.values), written=torch.full_like(cache.written, length)
    )
