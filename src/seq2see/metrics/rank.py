"""Whether two ways of weighing the same things put them in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class RankAgreement:
    """From 1 (the same order) over 0 (none) to -1 (the reverse); None where one side has all things equal."""

    kendall: float | None
    spearman: float | None
    count: int  # things that were compared


def compare_ranks(left: Sequence[float], right: Sequence[float]) -> RankAgreement:
    """How far two weighings agree on the order of the same things."""
    one, two = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return RankAgreement(kendall_tau(one, two), spearman_rho(one, two), len(one))


def kendall_tau(left: Float[np.ndarray, " n"], right: Float[np.ndarray, " n"]) -> float | None:
    """tau-b: (pairs in order - pairs out of order) / sqrt(pairs untied left x pairs untied right) (Kendall 1945)."""
    signs = [np.sign(side[:, None] - side[None, :]) for side in (left, right)]
    untied = [float((sign != 0).sum()) for sign in signs]
    if not all(untied):
        return None
    return float((signs[0] * signs[1]).sum() / np.sqrt(untied[0] * untied[1]))


def spearman_rho(left: Float[np.ndarray, " n"], right: Float[np.ndarray, " n"]) -> float | None:
    """The correlation of ranks; things that are equal share the mean of their ranks."""
    ranks = [_rank(side) - (len(side) - 1) / 2 for side in (left, right)]
    norms = [float(np.sqrt((rank**2).sum())) for rank in ranks]
    return float((ranks[0] * ranks[1]).sum() / (norms[0] * norms[1])) if all(norms) else None


def _rank(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - counts + ends - 1)[places] / 2)
