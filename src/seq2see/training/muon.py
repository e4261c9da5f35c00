"""Muon: weight matrices move by the orthogonalised momentum of their gradients; AdamW moves all other parameters.

Jordan et al. 2024 (https://kellerjordan.github.io/posts/muon); Liu et al. 2025 (arXiv:2502.16982) for the step size.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn, optim

from seq2see.models.network import Network

MOMENTUM = 0.95
ROUNDS = 5
LARGE = 256  # numbers along the shorter side from which on a block is multiplied by itself
QUINTIC = (3.4445, -4.7750, 2.0315)  # steep at 0, so that small singular values grow within few rounds
LIKE_ADAM = 0.2  # the size of a number in an update of Adam, so that both share one learning rate (Liu et al. 2025)


def find_matrices(model: Network) -> list[nn.Parameter]:
    """Return the weight matrices of linear layers and recurrent cells, without the output layer and embeddings.

    Args:
        model: the model whose modules are searched; a matrix with several names comes once.
    """
    modules = [module for module in model.modules() if isinstance(module, nn.Linear | nn.RNNBase)]
    found = [each for module in modules for each in module.parameters(recurse=False) if each.ndim == 2]
    return [each for each in dict.fromkeys(found) if each is not model.output_layer.weight]


def move_matrices(optimizer: optim.Optimizer, matrices: list[nn.Parameter]) -> None:
    """Before every step of an optimizer, move the matrices by Muon and hide their gradients from it.

    Args:
        optimizer: the AdamW that moves all other parameters; its first group has the learning rate and weight decay,
            its state the momenta.
        matrices: the parameters that Muon moves, each `[o i]`.
    """

    def move(*_: object) -> None:
        moved = [matrix for matrix in matrices if matrix.grad is not None]
        momenta = [_nesterov_momentum(optimizer.state[matrix], matrix) for matrix in moved]
        group = optimizer.param_groups[0]
        _descend(moved, momenta, learning_rate=group["lr"], weight_decay=group["weight_decay"])

    optimizer.register_step_pre_hook(move)


@torch.no_grad()
def _nesterov_momentum(state: dict[str, Tensor], matrix: nn.Parameter) -> Float[Tensor, "o i"]:
    """Return g + mu m with m <- mu m + g: the momentum one step ahead."""
    assert matrix.grad is not None
    if not state:
        state |= {"step": torch.tensor(0.0), "momentum": torch.zeros_like(matrix)}
    state["step"] += 1
    state["momentum"].mul_(MOMENTUM).add_(matrix.grad)
    return matrix.grad.add(state["momentum"], alpha=MOMENTUM)


@torch.no_grad()
def _descend(matrices: list[nn.Parameter], momenta: list[Tensor], *, learning_rate: float, weight_decay: float) -> None:
    """Move all matrices; small blocks of one shape are orthogonalised in one batch, large ones one after another.

    Batched products are always those of MKL, which took three times as long on a processor that it does not know
    (`seq2see.system.blas`).
    """
    alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
    for matrix, momentum in zip(matrices, momenta, strict=True):
        matrix.mul_(1 - learning_rate * weight_decay)
        for block, part in zip(_cut(matrix), _cut(momentum), strict=True):
            alike.setdefault(block.shape, []).append((block, part))
        matrix.grad = None
    for shape, pairs in alike.items():
        size = learning_rate * LIKE_ADAM * math.sqrt(max(shape))
        blocks, parts = zip(*pairs, strict=True)
        alone = min(shape) >= LARGE
        found = map(orthogonalise, parts) if alone else orthogonalise(torch.stack(parts)).unbind()
        torch._foreach_add_(blocks, list(found), alpha=-size)


def _cut(matrix: Float[Tensor, "o i"]) -> tuple[Tensor, ...]:
    """The squares of a matrix that is several of them on top of each other: joined projections, or gates of a cell."""
    outputs, inputs = matrix.shape
    return matrix.detach().split(inputs) if outputs % inputs == 0 else (matrix.detach(),)


def orthogonalise(matrices: Float[Tensor, "*n o i"]) -> Float[Tensor, "*n o i"]:
    """Take all singular values of matrices to about 1: X <- a X + (b A + c A A) X with A = X X', repeated 5 times.

    X begins as the matrix over its Frobenius norm; a, b and c are `QUINTIC`. Jordan et al. 2024.

    Args:
        matrices: one matrix, or several of the same shape, `[*n o i]`.
    """
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    found = matrices.mT if tall else matrices
    found = found / (torch.linalg.matrix_norm(found, keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        gram = found @ found.mT
        found = a * found + (b * gram + c * (gram @ gram)) @ found
    return found.mT if tall else found
