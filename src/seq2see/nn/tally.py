"""Products with a tensor that all steps of a walk share: its gradient is taken once, for all steps together.

Left to itself, every step would write a gradient as large as the whole memory and add it to that of the others.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


class Tally:
    """What the steps leave behind on the way back: rows of factors, and the vectors that they multiply."""

    def __init__(self) -> None:
        self.rows: list[Tensor] = []
        self.vectors: list[Tensor] = []

    def add(self, rows: Float[Tensor, "b h t s"], vectors: Float[Tensor, "b h t d"]) -> None:
        """Remember one step."""
        self.rows.append(rows)
        self.vectors.append(vectors)

    def take(self) -> Float[Tensor, "b h s d"] | None:
        """The sum over all steps since the last time; None if there were none."""
        if not self.rows:
            return None
        total = torch.cat(self.rows, dim=2).transpose(2, 3) @ torch.cat(self.vectors, dim=2)
        self.rows, self.vectors = [], []
        return total


def keep_tally(tensor: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h s d"]:
    """The same tensor, for many products; if nothing is to be learned from it, it is left alone."""
    if not (torch.is_grad_enabled() and tensor.requires_grad):
        return tensor
    tally = Tally()
    shared: Any = _Share.apply(tensor, tally)
    shared.tally = tally
    return shared


def has_tally(tensor: Tensor) -> bool:
    """Whether the steps of a walk share this tensor."""
    return _find_tally(tensor) is not None


def compare(query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
    """query @ keys.T"""
    tally = _find_tally(keys)
    products: Tensor = query @ keys.transpose(-1, -2) if tally is None else _Compare.apply(query, keys, tally)
    return products


def mix(weights: Float[Tensor, "b h t s"], values: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t d"]:
    """weights @ values"""
    tally = _find_tally(values)
    mixed: Tensor = weights @ values if tally is None else _Mix.apply(weights, values, tally)
    return mixed


def _find_tally(tensor: Tensor) -> Tally | None:
    return getattr(tensor, "tally", None)


class _Share(torch.autograd.Function):
    """Its backward comes after those of all products, because they are made of its output."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, tally: Tally) -> Tensor:
        ctx.tally = tally
        ctx.set_materialize_grads(False)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Tensor | None, None]:
        parts = [part for part in (gradient, ctx.tally.take()) if part is not None]
        return (sum(parts[1:], parts[0]) if parts else None), None


class _Compare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, tally: Tally) -> Tensor:
        ctx.save_for_backward(query, keys)
        ctx.tally = tally
        return query @ keys.transpose(-1, -2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        query, keys = ctx.saved_tensors
        ctx.tally.add(gradient, query)
        return gradient @ keys, None, None


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, tally: Tally) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.tally = tally
        return weights @ values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        weights, values = ctx.saved_tensors
        ctx.tally.add(weights, gradient)
        return gradient @ values.transpose(-1, -2), None, None
