"""The colours of weights and runs, the same in every view, each for a light and for a dark background."""

from collections.abc import Sequence

# Nine stops for each ramp, with equal steps of CIE lightness, so that the eye sees equal steps of weight as equal.
LIGHT = ("#f1f7fb", "#bbdff8", "#8bc4f2", "#62a9e8", "#448cd7", "#3270be", "#28559f", "#213d7c", "#182657")
DARK = ("#1f2632", "#273c5b", "#2b5482", "#2e6ea6", "#398ac4", "#53a6da", "#79c1ea", "#a8dcf5", "#dcf5ff")
# For a second quantity beside the first (sentences beside words), with the same steps of lightness.
WARM_LIGHT = ("#fff4ef", "#ffd0b7", "#ffaa7a", "#f7843e", "#dc6616", "#b94f01", "#923d00", "#6c2c00", "#471e00")
WARM_DARK = ("#372013", "#622c0a", "#8b3a01", "#b24c00", "#d6610f", "#f67b2d", "#ffa36e", "#ffc9ac", "#ffeee5")

# The lines of several runs: (on light, on dark) for each; neighbours also differ in lightness.
RUNS = (
    ("#2563b0", "#79b6f2"),
    ("#c2570c", "#f5a965"),
    ("#0f766e", "#58cbb8"),
    ("#9d2f6f", "#f08fc4"),
    ("#5b6675", "#b3bdc9"),
    ("#6d4bc3", "#b9a5f7"),
)

# Over an image: the opacity of an area without weight, 0 to 1, and the colour (RGB) that shows through it, which is
# neither black nor white, because images contain both.
DIM, VEIL = 0.22, (52, 66, 102)
MUTED = "#5b6675"  # of axes, legends and notes
WRONG = "#a3331f"  # of what is wrong, or unknown to the run


def mix_colour(weight: float, *, stops: Sequence[str]) -> str:
    """Return the colour of a weight as `#rrggbb`, interpolated between the two nearest stops.

    Args:
        weight: 0 to 1; a weight outside is clipped, and NaN counts as 0.
        stops: two colours or more as `#rrggbb`, at equal distances; the first is that of weight 0, the last of 1.
    """
    place = (min(max(weight, 0.0), 1.0) if weight == weight else 0.0) * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    share = place - left
    pairs = zip(_split_channels(stops[left]), _split_channels(stops[left + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)


def _split_channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
