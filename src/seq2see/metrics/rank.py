"""Rank correlation: whether two lists of weights order the same things alike."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class RankAgreement:
    """Holds rank correlations from 1 (same order) to -1 (reverse order).

    Args:
        kendall: Kendall's tau-b; None if one side is constant.
        spearman: Spearman's rho; None if one side is constant.
        count: how many things were compared.
    """

    kendall: float | None
    spearman: float | None
    count: int


def compare_ranks(left: Sequence[float], right: Sequence[float]) -> RankAgreement:
    """Return both rank correlations of two lists of weights.

    Args:
        left: one weight for each thing.
        right: another weight for each thing, in the same order; a thing with a weight that is NaN is left out.
    """
    one, two = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    known = ~(np.isnan(one) | np.isnan(two))
    one, two = one[known], two[known]
    return RankAgreement(kendall_tau(one, two), spearman_rho(one, two), len(one))


def kendall_tau(left: Float[np.ndarray, " n"], right: Float[np.ndarray, " n"]) -> float | None:
    """Return tau-b = (concordant - discordant pairs) / sqrt(pairs untied left x pairs untied right).

    Kendall 1945 (doi:10.1093/biomet/33.3.239). None if all pairs of one side are tied.

    Args:
        left: one weight for each thing, [n].
        right: another weight for each thing, [n].
    """
    signs = [np.sign(side[:, None] - side[None, :]) for side in (left, right)]
    untied = [float((sign != 0).sum()) for sign in signs]
    if not all(untied):
        return None
    return float((signs[0] * signs[1]).sum() / np.sqrt(untied[0] * untied[1]))


def spearman_rho(left: Float[np.ndarray, " n"], right: Float[np.ndarray, " n"]) -> float | None:
    """Return the correlation of ranks; equal values share the mean of their ranks. None if one side is constant.

    Args:
        left: one weight for each thing, [n].
        right: another weight for each thing, [n].
    """
    ranks = [_rank(side) - (len(side) - 1) / 2 for side in (left, right)]
    norms = [float(np.sqrt((rank**2).sum())) for rank in ranks]
    return float((ranks[0] * ranks[1]).sum() / (norms[0] * norms[1])) if all(norms) else None


def _rank(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - counts + ends - 1)[places] / 2)
