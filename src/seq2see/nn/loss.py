"""Cross-entropy of an output layer, computed in chunks of rows so that the full logits never exist."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 512  # rows of logits in memory at a time


def output_cross_entropy(
    features: Float[Tensor, "n d"],
    weight: Float[Tensor, "v d"],
    bias: Float[Tensor, " v"],
    targets: Int[Tensor, " n"],
    *,
    smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, " n"]]:
    """Cross-entropy of features @ weight.T + bias: label-smoothed and summed, and the plain one of every row.

    Smoothing as in Szegedy et al. 2016: the target gets 1 - e, and e is spread evenly over the vocabulary.
    Only the first result carries gradients.
    """
    loss, nll = _OutputCrossEntropy.apply(features, weight, bias, targets, smoothing)
    return loss, nll


class _OutputCrossEntropy(torch.autograd.Function):
    """The gradient is known as soon as a chunk's logits are, so it is taken at once and the logits are dropped."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad[:3])
        gradients = tuple(torch.zeros_like(t) for t in (features, weight, bias)) if wanted else ()
        loss, nll = features.new_zeros(()), features.new_empty(features.shape[0])
        for start in range(0, features.shape[0], CHUNK):
            rows = slice(start, start + CHUNK)
            logits = torch.addmm(bias, features[rows], weight.t())
            hit = targets[rows].unsqueeze(1)
            scale = logits.logsumexp(dim=1, keepdim=True)
            nll[rows] = (scale - logits.gather(1, hit)).squeeze(1)
            loss += (1 - smoothing) * nll[rows].sum()
            if smoothing:
                loss += smoothing * (scale - logits.mean(dim=1, keepdim=True)).sum()
            if wanted:
                slope = logits.sub_(scale).exp_()
                if smoothing:
                    slope -= smoothing / weight.shape[0]
                slope.scatter_add_(1, hit, torch.full_like(scale, smoothing - 1))
                torch.mm(slope, weight, out=gradients[0][rows])
                gradients[1].addmm_(slope.t(), features[rows])
                gradients[2].add_(slope.sum(dim=0))
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias = ctx.saved_tensors
        return features * grad_loss, weight * grad_loss, bias * grad_loss, None, None
