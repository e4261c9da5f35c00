"""Matrix products with a tensor that all steps of a loop share, whose gradient is computed once for all steps.

A recurrent decoder multiplies the same keys and values at every step. Autograd would write a gradient as large as the
whole memory at every step and add it to the others. Here each step stores its two small factors, and one product of
all of them gives the gradient.
"""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


class SharedGradient:
    """Collects the factors of a tensor's gradient while the backward pass runs through the steps."""

    def __init__(self) -> None:
        self.rows: list[Tensor] = []
        self.vectors: list[Tensor] = []

    def add(self, rows: Float[Tensor, "b h t s"], vectors: Float[Tensor, "b h t d"]) -> None:
        """Store the factors of one step: its part of the gradient is rows.T @ vectors.

        Args:
            rows: the factor with one row for each query, [b h t s].
            vectors: the factor with one vector for each query, [b h t d].
        """
        self.rows.append(rows)
        self.vectors.append(vectors)

    def take(self) -> Float[Tensor, "b h s d"] | None:
        """Return the sum over all steps since the last call, and forget them; None if there were none."""
        if not self.rows:
            return None
        total = torch.cat(self.rows, dim=2).transpose(2, 3) @ torch.cat(self.vectors, dim=2)
        self.rows, self.vectors = [], []
        return total


def share_gradients(tensor: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h s d"]:
    """Return the same tensor, marked for `dot_products` and `weighted_sum`; unmarked if it needs no gradient.

    Args:
        tensor: the keys or values that all steps of a loop use, [b h s d]. The loop must use the result itself: a view
            or a copy of it has no mark.
    """
    if not (torch.is_grad_enabled() and tensor.requires_grad):
        return tensor
    gradient = SharedGradient()
    shared: Tensor = _Share.apply(tensor, gradient)
    setattr(shared, _MARK, gradient)
    return shared


def shares_gradients(tensor: Tensor) -> bool:
    """Tell whether `share_gradients` marked this tensor.

    Args:
        tensor: the very tensor, not a view or a copy of it.
    """
    return _find_gradient(tensor) is not None


def dot_products(query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
    """Return query @ keys.T, [b h t s].

    Args:
        query: [b h t d].
        keys: [b h s d]; may be marked by `share_gradients`.
    """
    gradient = _find_gradient(keys)
    if gradient is None:
        return query @ keys.transpose(-1, -2)
    with torch.autocast(keys.device.type, enabled=False):  # both factors must have the type of the tensor
        products: Tensor = _DotProducts.apply(query.to(keys.dtype), keys, gradient)
    return products


def weighted_sum(weights: Float[Tensor, "b h t s"], values: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t d"]:
    """Return weights @ values, [b h t d].

    Args:
        weights: [b h t s].
        values: [b h s d]; may be marked by `share_gradients`.
    """
    gradient = _find_gradient(values)
    if gradient is None:
        return weights @ values
    with torch.autocast(values.device.type, enabled=False):
        summed: Tensor = _WeightedSum.apply(weights.to(values.dtype), values, gradient)
    return summed


_MARK = "shared_gradient"


def _find_gradient(tensor: Tensor) -> SharedGradient | None:
    return getattr(tensor, _MARK, None)


if TYPE_CHECKING:

    class _Context(FunctionCtx):
        """Holds what a forward pass keeps for its backward pass."""

        gradient: SharedGradient
        saved_tensors: tuple[Tensor, ...]
else:
    _Context = FunctionCtx


class _Share(torch.autograd.Function):
    """Runs its backward pass after those of all products, because they are made of its output."""

    @staticmethod
    def forward(ctx: _Context, tensor: Tensor, gradient: SharedGradient) -> Tensor:
        ctx.gradient = gradient
        ctx.set_materialize_grads(False)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_output: Tensor | None) -> tuple[Tensor | None, None]:
        parts = [part for part in (grad_output, ctx.gradient.take()) if part is not None]
        return (sum(parts[1:], parts[0]) if parts else None), None


class _DotProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Context, query: Tensor, keys: Tensor, gradient: SharedGradient) -> Tensor:
        ctx.save_for_backward(query, keys)
        ctx.gradient = gradient
        return query @ keys.transpose(-1, -2)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        query, keys = ctx.saved_tensors
        ctx.gradient.add(grad_output, query)
        return grad_output @ keys, None, None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Context, weights: Tensor, values: Tensor, gradient: SharedGradient) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.gradient = gradient
        return weights @ values

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        weights, values = ctx.saved_tensors
        ctx.gradient.add(weights, grad_output)
        return grad_output @ values.transpose(-1, -2), None, None
