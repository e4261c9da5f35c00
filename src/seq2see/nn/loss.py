"""Cross-entropy of an output layer, computed in chunks of rows so that the full logits never exist."""

from collections.abc import Sequence
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
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, " n"]]:
    """Cross-entropy of features @ weight.T + bias: label-smoothed and summed, and the plain one of every row.

    Smoothing as in Szegedy et al. 2016: the target gets 1 - e, and e is spread evenly over the vocabulary.
    With weights each row counts so much in the sum. Only the first result carries gradients.
    """
    counts = features.new_ones(1).expand(len(targets)) if weights is None else weights
    learned = torch.is_grad_enabled() and any(each.requires_grad for each in (features, weight, bias))
    loss, nll = _OutputCrossEntropy.apply(features, weight, bias, targets, smoothing, counts, learned)
    return loss, nll


def shift_targets(
    features: Float[Tensor, "n d"],
    weight: Float[Tensor, "v d"],
    bias: Float[Tensor, " v"],
    targets: Int[Tensor, " n"],
    taught: Float[Tensor, "n v"],
    *,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """What `output_cross_entropy` lacks for the taught probabilities to stand where its targets do.

    A cross-entropy is log sum exp(logits) minus the mean of the logits under what is wanted, so only the latter moves.
    """
    moved = smoothing / len(weight) - taught
    moved[torch.arange(len(targets)), targets] += 1 - smoothing
    return (features * (moved @ weight)).sum() + (moved @ bias).sum()


class _OutputCrossEntropy(torch.autograd.Function):
    """The gradient is known as soon as a chunk's logits are, so it is taken at once and the logits are dropped.

    Only exp(logit - top) is ever written for each word of the vocabulary: what divides a row by its sum goes to the
    features, and what smoothing and the targets take off the softmax has closed forms of the size of the features.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        counts: Tensor,
        wanted: bool,
    ) -> tuple[Tensor, Tensor]:
        gradients = tuple(torch.zeros_like(t) for t in (features, weight, bias)) if wanted else ()
        scales = features.new_empty(len(targets))  # log of the sum of exp(logits), row by row
        room = features.new_empty(min(CHUNK, len(targets)), len(weight))
        for start in range(0, len(targets), CHUNK):
            rows = slice(start, start + CHUNK)
            part = features[rows]
            logits = torch.mm(part, weight.t(), out=room[: len(part)]).add_(bias)
            top = logits.amax(dim=1, keepdim=True)
            powers = logits.sub_(top).exp_()
            sums = powers.sum(dim=1, keepdim=True)
            scales[rows] = (top + sums.log()).squeeze(1)
            if wanted:
                shares = sums.reciprocal().mul_(counts[rows].unsqueeze(1))
                torch.mm(powers, weight, out=gradients[0][rows]).mul_(shares)
                gradients[1].addmm_(powers.t(), part * shares)
                gradients[2].add_(shares.squeeze(1) @ powers)
        if wanted:
            _aim(gradients, features, weight, targets, smoothing, counts)
        ctx.save_for_backward(*gradients)
        nll = scales - (features * weight[targets]).sum(dim=1) - bias[targets]
        loss = (1 - smoothing) * (counts @ nll)
        if smoothing:
            loss = loss + smoothing * (counts @ (scales - features @ weight.mean(dim=0) - bias.mean()))
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias = ctx.saved_tensors
        return features * grad_loss, weight * grad_loss, bias * grad_loss, None, None, None, None


def _aim(
    gradients: Sequence[Tensor], features: Tensor, weight: Tensor, targets: Tensor, smoothing: float, counts: Tensor
) -> None:
    """Take off the softmax what the loss wants: 1 - e at the target and e spread over all words."""
    each, words = counts.unsqueeze(1), len(weight)
    counted = features * each
    gradients[0].addcmul_(weight[targets], each, value=smoothing - 1)
    gradients[1].index_add_(0, targets, counted, alpha=smoothing - 1)
    gradients[2].index_add_(0, targets, counts, alpha=smoothing - 1)
    if smoothing:
        gradients[0].addcmul_(weight.mean(dim=0), each, value=-smoothing)
        gradients[1].sub_(counted.sum(dim=0), alpha=smoothing / words)
        gradients[2].sub_(counts.sum(), alpha=smoothing / words)
