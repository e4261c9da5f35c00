"""Agreement of orders: numbers that a person can check by hand."""

import pytest

from seq2see.metrics.rank import compare_ranks


def test_orders_agree_reverse_or_neither() -> None:
    same = compare_ranks([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 400.0])
    assert (same.kendall, same.spearman, same.count) == (pytest.approx(1), pytest.approx(1), 4)
    reverse = compare_ranks([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    assert (reverse.kendall, reverse.spearman) == (pytest.approx(-1), pytest.approx(-1))


def test_one_swap_by_hand() -> None:
    found = compare_ranks([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0])
    assert found.kendall == pytest.approx((5 - 1) / 6)
    assert found.spearman == pytest.approx(1 - 6 * 2 / (4 * 15))


def test_ties_by_hand() -> None:
    # pairs: one tied on the left, all others in order
    found = compare_ranks([1.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    assert found.kendall == pytest.approx(2 / (2 * 3) ** 0.5)
    assert found.spearman == pytest.approx(1.5 / (1.5 * 2) ** 0.5)
    flat = compare_ranks([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])
    assert (flat.kendall, flat.spearman) == (None, None)


def test_what_is_missing_on_one_side_is_left_out() -> None:
    nan = float("nan")
    found = compare_ranks([1.0, nan, 2.0, 3.0, 9.0], [3.0, 5.0, 2.0, 1.0, nan])
    assert (found.kendall, found.spearman, found.count) == (pytest.approx(-1), pytest.approx(-1), 3)
