"""Schedules by hand."""

import math

import pytest

from seq2see.core.registry import names, part
from seq2see.training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    NoamSchedule,
    PlateauSchedule,
)


def test_constant_warms_up() -> None:
    assert [ConstantSchedule(warmup=4).factor(n) for n in (1, 2, 4, 9)] == [0.25, 0.5, 1, 1]


def test_noam_is_its_equation() -> None:
    noam = NoamSchedule(size=16, warmup=100)
    assert noam.factor(25) == pytest.approx(0.25 * 25 / 1000)
    assert noam.factor(400) == pytest.approx(0.25 / 20)


def test_inverse_square_root_peaks_at_the_end_of_warmup() -> None:
    schedule = InverseSqrtSchedule(warmup=100)
    assert [schedule.factor(n) for n in (50, 100, 400)] == [0.5, 1.0, 0.5]


def test_cosine_goes_from_one_to_the_floor() -> None:
    schedule = CosineSchedule(updates=110, warmup=10, floor=0.2)
    assert [schedule.factor(n) for n in (5, 10)] == [0.5, 1.0]
    assert schedule.factor(60) == pytest.approx(0.6)
    assert schedule.factor(110) == pytest.approx(0.2)


def test_plateau_shrinks_after_patience_and_remembers() -> None:
    schedule = PlateauSchedule(shrink=0.5, patience=2)
    for loss in (3.0, 2.0, 2.5, 2.1):
        schedule.observe(loss)
    assert schedule.factor(1) == 0.5
    other = PlateauSchedule(shrink=0.5, patience=2)
    other.restore(schedule.state())
    other.observe(2.2)
    assert other.factor(1) == 0.5
    other.observe(2.2)
    assert other.factor(1) == 0.25


@pytest.mark.parametrize("kind", names("schedule"))
def test_every_schedule_stays_positive_and_finite(kind: str) -> None:
    schedule = part("schedule", kind)(updates=100, size=64)
    factors = [schedule.factor(update) for update in range(1, 100)]
    assert all(0 < factor <= 1 and math.isfinite(factor) for factor in factors)
