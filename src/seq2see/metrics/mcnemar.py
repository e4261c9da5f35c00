"""McNemar's exact test: whether one classifier is right more often than another on the same sources."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2see.metrics.confusion import check_paired


@dataclass(frozen=True)
class McNemar:
    """Holds the result of McNemar's test.

    Args:
        b: the number of sources that the baseline alone has right.
        c: the number of sources that the other one alone has right.
        p_value: the probability of numbers at least as uneven if both are equally good.
    """

    b: int
    c: int
    p_value: float


def mcnemar(baseline: Sequence[bool], other: Sequence[bool]) -> McNemar:
    """Return the exact test, two-sided: p = min(1, 2 sum over i from 0 to min(b, c) of binom(b + c, i) / 2^(b + c)).

    Only the b + c sources count that one classifier alone has right: if both are equally good, each of these is as
    likely to be right for the one as for the other. McNemar 1947 (doi:10.1007/BF02295996); Dietterich 1998
    (doi:10.1162/089976698300017197) recommends the test for classifiers that were trained once.

    Args:
        baseline: whether the baseline has each source right.
        other: whether the other classifier has it right.
    """
    check_paired(other, baseline)
    b = sum(one and not two for one, two in zip(baseline, other, strict=True))
    c = sum(two and not one for one, two in zip(baseline, other, strict=True))
    ways, tail = 1, 0  # whole numbers, so that nothing is rounded
    for chosen in range(min(b, c) + 1):
        tail += ways
        ways = ways * (b + c - chosen) // (chosen + 1)  # binom(b + c, chosen + 1)
    return McNemar(b, c, min(1.0, 2 * tail / 2 ** (b + c)))
