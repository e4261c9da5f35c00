"""Calibration: probabilities that are as often right as they say."""

from collections.abc import Callable, Mapping
from math import exp, log, sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

GOLDEN = (sqrt(5) - 1) / 2
BOUNDS = (log(0.05), log(20.0))
STEPS = 40  # each shrinks what is left to search by a third


def fit_temperature(logits: Float[Tensor, "n c"], truth: Float[Tensor, "n c"], *, many: bool = False) -> float:
    """The T that makes logits / T most likely (Guo et al. 2017, section 4.2); truth is 1 at the right labels.

    A weak belief that T is near 1, worth about one source, keeps a few sources that are all right from promising too
    much.
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
    """Of labels that exclude each other, or of each for itself."""
    scaled = logits / temperature
    return scaled.sigmoid() if many else scaled.softmax(dim=1)


def undo_temperature(probabilities: Mapping[str, float], temperature: float) -> float:
    """The largest probability as it was before the logits were divided."""
    logs = torch.tensor(list(probabilities.values()), dtype=torch.float64).clamp(min=1e-300).log()
    return float((logs * temperature).softmax(dim=0).max())


def _find_lowest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search over a function with one valley."""
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
