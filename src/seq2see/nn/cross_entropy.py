"""Cross-entropy of an output layer, computed in chunks of rows so that the full logits are never in memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

MAX_LOGIT_ROWS = 512  # rows of logits in memory at a time


def output_cross_entropy(
    features: Float[Tensor, "n d"],
    weight: Float[Tensor, "v d"],
    bias: Float[Tensor, " v"],
    targets: Int[Tensor, " n"],
    *,
    smoothing: float = 0.0,
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, " n"]]:
    """Return the label-smoothed cross-entropy of logits features @ weight.T + bias, and the plain one of each row.

    Label smoothing e as in Szegedy et al. 2016 (arXiv:1512.00567), section 7: the target gets 1 - e, and e is spread
    evenly over the vocabulary.

    Args:
        features: what the output layer reads, [n d].
        weight: the weights of the output layer, [v d].
        bias: the biases of the output layer, [v].
        targets: the id of each row's target token, [n].
        smoothing: e, from 0 (none) to below 1.
        weights: the factor of each row in the sum, [n]; None is 1 for all.

    Returns:
        The smoothed cross-entropy in nats, summed over the rows with their factors, which carries gradients; and the
        cross-entropy of each row without smoothing and factors, [n], which carries none.
    """
    features = features.to(weight.dtype)  # a loss needs the precision of the weights, also under autocast
    counts = features.new_ones(1).expand(len(targets)) if weights is None else weights
    learned = torch.is_grad_enabled() and any(each.requires_grad for each in (features, weight, bias))
    with torch.autocast(features.device.type, enabled=False):
        loss, nll = _OutputCrossEntropy.apply(features, weight, bias, targets, smoothing, counts, learned)
    return loss, nll


def shift_targets(
    features: Float[Tensor, "n d"],
    weight: Float[Tensor, "v d"],
    bias: Float[Tensor, " v"],
    targets: Int[Tensor, " n"],
    teacher: Float[Tensor, "n v"],
    *,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Return what to add to `output_cross_entropy` to get the cross-entropy with a teacher's probabilities instead.

    A cross-entropy is log sum exp(logits) minus the mean of the logits under the target distribution, so that only the
    mean differs: the result is sum over rows and words of (target - teacher) logits.

    Args:
        features: what the output layer reads, [n d].
        weight: the weights of the output layer, [v d].
        bias: the biases of the output layer, [v].
        targets: the id of each row's target token, [n].
        teacher: the probabilities of the teacher, [n v]; each row sums to 1.
        smoothing: the label smoothing that `output_cross_entropy` was given.
    """
    features = features.to(weight.dtype)
    difference = smoothing / len(weight) - teacher.to(weight.dtype)
    difference[torch.arange(len(targets), device=targets.device), targets] += 1 - smoothing
    return (features * (difference @ weight)).sum() + (difference @ bias).sum()


if TYPE_CHECKING:

    class _Context(FunctionCtx):
        """Holds what a forward pass keeps for its backward pass."""

        saved_tensors: tuple[Tensor, ...]
else:
    _Context = FunctionCtx


class _OutputCrossEntropy(torch.autograd.Function):
    """Computes the gradient of a chunk of rows together with its logits, and drops the logits.

    Only exp(logit - largest) is ever written for each word of the vocabulary: the division by a row's sum is applied to
    the features, and what smoothing and targets subtract from the softmax has closed forms of the size of the features.
    """

    @staticmethod
    def forward(
        ctx: _Context,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        counts: Tensor,
        needs_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        gradients = tuple(torch.zeros_like(t) for t in (features, weight, bias)) if needs_gradients else ()
        scales = features.new_empty(len(targets))  # log of the sum of exp(logits), row by row
        buffer = features.new_empty(min(MAX_LOGIT_ROWS, len(targets)), len(weight))
        for start in range(0, len(targets), MAX_LOGIT_ROWS):
            rows = slice(start, start + MAX_LOGIT_ROWS)
            part = features[rows]
            logits = torch.mm(part, weight.t(), out=buffer[: len(part)]).add_(bias)
            largest = logits.amax(dim=1, keepdim=True)
            powers = logits.sub_(largest).exp_()
            sums = powers.sum(dim=1, keepdim=True)
            scales[rows] = (largest + sums.log()).squeeze(1)
            if needs_gradients:
                shares = sums.reciprocal().mul_(counts[rows].unsqueeze(1))
                torch.mm(powers, weight, out=gradients[0][rows]).mul_(shares)
                gradients[1].addmm_(powers.t(), part * shares)
                gradients[2].add_(shares.squeeze(1) @ powers)
        if needs_gradients:
            _subtract_targets(gradients, features, weight, targets, smoothing, counts)
        ctx.save_for_backward(*gradients)
        nll = scales - (features * weight[targets]).sum(dim=1) - bias[targets]
        loss = (1 - smoothing) * (counts @ nll)
        if smoothing:
            loss = loss + smoothing * (counts @ (scales - features @ weight.mean(dim=0) - bias.mean()))
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias = ctx.saved_tensors
        return features * grad_loss, weight * grad_loss, bias * grad_loss, None, None, None, None


def _subtract_targets(
    gradients: Sequence[Tensor], features: Tensor, weight: Tensor, targets: Tensor, smoothing: float, counts: Tensor
) -> None:
    """Subtract the target distribution from the softmax: 1 - e at the target, and e spread over all words."""
    each, words = counts.unsqueeze(1), len(weight)
    counted = features * each
    gradients[0].addcmul_(weight[targets], each, value=smoothing - 1)
    gradients[1].index_add_(0, targets, counted, alpha=smoothing - 1)
    gradients[2].index_add_(0, targets, counts, alpha=smoothing - 1)
    if smoothing:
        gradients[0].addcmul_(weight.mean(dim=0), each, value=-smoothing)
        gradients[1].sub_(counted.sum(dim=0), alpha=smoothing / words)
        gradients[2].sub_(counts.sum(), alpha=smoothing / words)
