"""The ramps: right ends, equal steps of lightness."""

import numpy as np
import pytest

from seq2see.render.colours import DARK, LIGHT, WARM_DARK, WARM_LIGHT, mix_colour


def measure_lightness(colour: str) -> float:
    """CIE L* of an sRGB colour."""
    channels = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16)


@pytest.mark.parametrize("stops", [LIGHT, DARK, WARM_LIGHT, WARM_DARK])
def test_ends_and_beyond(stops: tuple[str, ...]) -> None:
    assert [mix_colour(weight, stops=stops) for weight in (0.0, -1.0, float("nan"))] == [stops[0]] * 3
    assert [mix_colour(weight, stops=stops) for weight in (1.0, 7.0)] == [stops[-1]] * 2
    assert mix_colour(0.5, stops=stops) == stops[4]


def test_halfway_between_two_stops() -> None:
    assert mix_colour(0.5, stops=("#000000", "#0a1464")) == "#050a32"


@pytest.mark.parametrize("stops", [LIGHT, DARK, WARM_LIGHT, WARM_DARK])
def test_equal_weights_are_equal_steps_of_lightness(stops: tuple[str, ...]) -> None:
    lightness = [measure_lightness(mix_colour(step / 32, stops=stops)) for step in range(33)]
    steps = np.diff(lightness)
    assert np.abs(steps - steps.mean()).max() < 0.5
