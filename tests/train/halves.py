"""Images of two halves, and presets in a size that a test can train."""

from itertools import permutations
from pathlib import Path
from typing import Any

from PIL import Image

COLOURS = ("red", "green", "blue", "black")
SMALL = {"size": 32, "embedding_size": 32, "inner_size": 48, "layers": 1, "heads": 2, "patch": 4, "dropout": 0.0}
SMALL |= {"backbone": "small", "output_dropout": 0.0}


def write_halves(folder: Path) -> Path:
    """An image for every two colours, and a word for each of them."""
    rows = []
    for left, right in permutations(COLOURS, 2):
        image = Image.new("RGB", (24, 24), left)
        image.paste(right, (12, 0, 24, 24))
        image.save(folder / f"{left}-{right}.png")
        rows.append(f"{folder / f'{left}-{right}.png'}\t{left} {right}\n")
    (folder / "halves.tsv").write_text("".join(rows))
    return folder / "halves.tsv"


def shrink(spec: Any) -> dict[str, Any]:
    """The same part in a size for a test; maps of the small backbone have other numbers."""
    layer = {"layer": [0, 1] if isinstance(spec["layer"], list) else 1} if "layer" in spec else {}
    return {**{name: value for name, value in SMALL.items() if name in spec}, **layer}
