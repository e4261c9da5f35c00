"""Muon: matrices of weights move by the nearest orthogonal matrix of their momentum; Adam moves all that is none."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn, optim

MOMENTUM = 0.95
ROUNDS = 5
LARGE = 256  # numbers along the shorter side from which on a block is multiplied by itself
QUINTIC = (3.4445, -4.7750, 2.0315)  # steep at 0, so that small singular values grow within few rounds
LIKE_ADAM = 0.2  # the size of a number in an update of Adam, so that both share one learning rate (Liu et al. 2025)


def find_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The weights of linear maps and recurrent cells; tables of embeddings and the output layer are none."""
    modules: Any = [module for module in model.modules() if isinstance(module, nn.Linear | nn.RNNBase)]
    output: Any = getattr(model, "output", None)
    tables = [output.weight] if output is not None else []
    found = [each for module in modules for each in module.parameters(recurse=False) if each.ndim == 2]
    return [each for each in dict.fromkeys(found) if all(each is not table for table in tables)]


def move_matrices(optimizer: optim.Optimizer, matrices: list[nn.Parameter]) -> None:
    """Before every step, move the matrices and hide their gradients from the optimizer, which moves the rest."""

    def move(*_: Any) -> None:
        moved = [matrix for matrix in matrices if matrix.grad is not None]
        _descend(moved, [_gather(optimizer.state[matrix], matrix) for matrix in moved], optimizer.param_groups[0])

    optimizer.register_step_pre_hook(move)


@torch.no_grad()
def _gather(state: dict[str, Any], matrix: nn.Parameter) -> Float[Tensor, "o i"]:
    """Nesterov's momentum: where the gradients point to, one step ahead."""
    assert matrix.grad is not None
    if not state:
        state |= {"step": torch.tensor(0.0), "momentum": torch.zeros_like(matrix)}
    state["step"] += 1
    state["momentum"].mul_(MOMENTUM).add_(matrix.grad)
    return matrix.grad.add(state["momentum"], alpha=MOMENTUM)


@torch.no_grad()
def _descend(matrices: list[nn.Parameter], directions: list[Tensor], group: dict[str, Any]) -> None:
    """Move all matrices; small blocks of one shape are made orthogonal together, large ones one after another.

    So few large products are no batch: of batches MKL has the only ones, which took three times as long on a processor
    it does not know (`seq2see.core.product`).
    """
    alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
    for matrix, direction in zip(matrices, directions, strict=True):
        matrix.mul_(1 - group["lr"] * group["weight_decay"])
        for block, way in zip(_cut(matrix), _cut(direction), strict=True):
            alike.setdefault(block.shape, []).append((block, way))
        matrix.grad = None
    for shape, pairs in alike.items():
        size = group["lr"] * LIKE_ADAM * math.sqrt(max(shape))
        blocks, ways = zip(*pairs, strict=True)
        alone = min(shape) >= LARGE
        found = map(orthogonalise, ways) if alone else orthogonalise(torch.stack(ways)).unbind()
        torch._foreach_add_(blocks, list(found), alpha=-size)


def _cut(matrix: Float[Tensor, "o i"]) -> tuple[Tensor, ...]:
    """Squares, if a matrix is several of them on top of each other: joined projections, or the gates of a cell."""
    outputs, inputs = matrix.shape
    return matrix.detach().split(inputs) if outputs % inputs == 0 else (matrix.detach(),)


def orthogonalise(matrices: Float[Tensor, "*n o i"]) -> Float[Tensor, "*n o i"]:
    """Jordan et al. 2024: X <- a X + (b A + c A A) X with A = X X', which takes all singular values to about 1."""
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    found = matrices.mT if tall else matrices
    found = found / (torch.linalg.matrix_norm(found, keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        gram = found @ found.mT
        found = a * found + (b * gram + c * (gram @ gram)) @ found
    return found.mT if tall else found
