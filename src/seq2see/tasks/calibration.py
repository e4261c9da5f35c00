"""Calibration: a temperature for logits, so that a label with probability 0.8 is right in 8 of 10 cases."""

from collections.abc import Callable, Mapping
from math import exp, log, sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

GOLDEN = (sqrt(5) - 1) / 2
BOUNDS = (log(0.05), log(20.0))
STEPS = 40  # of the search; each shrinks the interval by more than a third


def fit_temperature(logits: Float[Tensor, "n c"], truth: Float[Tensor, "n c"], *, many: bool = False) -> float:
    """Return the temperature T that makes the labels most probable under logits / T, between 0.05 and 20.

    Guo et al. 2017 (arXiv:1706.04599), section 4.2. The prior (log T)^2 / 2, which weighs about as much as one source,
    keeps T from becoming tiny where all of a few sources are right.

    Args:
        logits: the logits of each held-out source, [n c]; without any source T is 1.
        truth: 1 at the right labels of each source, 0 elsewhere, [n c].
        many: whether a source may have several labels, each with a probability of its own.
    """

    def cost(place: float) -> float:
        scaled = logits.double() / exp(place)
        if many:
            nll = F.binary_cross_entropy_with_logits(scaled, truth.double(), reduction="sum")
        else:
            nll = -(scaled.log_softmax(dim=1) * truth).sum()
        return nll.item() + place**2 / 2

    return exp(_find_lowest(cost, *BOUNDS)) if len(logits) else 1.0


def make_probabilities(logits: Float[Tensor, "n c"], *, temperature: float, many: bool = False) -> Float[Tensor, "n c"]:
    """Return softmax(logits / T), or sigmoid(logits / T) where a source may have several labels.

    Args:
        logits: the logits of each source, [n c].
        temperature: T; 1 leaves the logits as they are.
        many: whether a source may have several labels.
    """
    scaled = logits / temperature
    return scaled.sigmoid() if many else scaled.softmax(dim=1)


def undo_temperature(probabilities: Mapping[str, float], temperature: float) -> float:
    """Return the largest probability of a source as it was before calibration; for labels that exclude each other.

    Args:
        probabilities: the calibrated probability of every label.
        temperature: the temperature by which the logits were divided.
    """
    logs = torch.tensor(list(probabilities.values()), dtype=torch.float64).clamp(min=1e-300).log()
    return float((logs * temperature).softmax(dim=0).max())


def _find_lowest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one minimum is lowest, by golden-section search."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = cost(right)
    return (low + high) / 2
