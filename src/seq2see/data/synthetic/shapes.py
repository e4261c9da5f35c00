"""Images of two shapes with a caption that says what is where, and the box of each shape."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image

from seq2see.core.box import Box, NamedBox
from seq2see.core.errors import DataError, Seq2SeeError
from seq2see.data.formats.lines import ReadReport, read_lines
from seq2see.system.files import write_atomic

Plane = Float[np.ndarray, "y x"]

IMAGE_SIDE_PIXELS = 64
# whether a point lies in a shape of radius 1 around 0; y grows downwards
SHAPES: dict[str, Callable[[Plane, Plane], Bool[np.ndarray, "y x"]]] = {
    "circle": lambda x, y: x**2 + y**2 <= 1,
    "square": lambda x, y: np.maximum(abs(x), abs(y)) <= 0.85,
    "triangle": lambda x, y: (abs(y) <= 0.9) & (abs(x) <= (y + 0.9) / 1.8),
    "diamond": lambda x, y: abs(x) + abs(y) <= 1,
    "cross": lambda x, y: (np.minimum(abs(x), abs(y)) <= 0.3) & (np.maximum(abs(x), abs(y)) <= 0.95),
    "ring": lambda x, y: abs(x**2 + y**2 - 0.7) <= 0.3,
}
COLOURS = {
    "red": (215, 35, 35),
    "green": (40, 160, 60),
    "blue": (40, 70, 215),
    "yellow": (235, 215, 40),
    "purple": (140, 50, 170),
    "orange": (240, 130, 25),
    "pink": (245, 130, 190),
    "cyan": (40, 200, 215),
}
LARGE_RADII, SMALL_RADII = (0.15, 0.2), (0.09, 0.12)  # of the first shape and of the second, in image sides
MIN_DIRECTION_RATIO = 2.0  # of the distance in the direction that is named to that in the other
MIN_GAP_PIXELS = 2  # between things


@dataclass(frozen=True)
class Scene:
    """An image of two things, its caption and their boxes.

    Args:
        pixels: RGB values from 0 to 255, `[y x 3]`.
        caption: such as `a red circle left of a blue ring`; it begins with the larger thing.
        things: both things with their boxes, the larger one first.
    """

    pixels: UInt8[np.ndarray, "y x 3"]
    caption: str
    things: tuple[NamedBox, NamedBox]


def write_shapes(folder: Path, *, train: int, valid: int, test: int, seed: int) -> dict[str, Path]:
    """Write images into images/ and a .jsonl file for each split with captions, things and boxes; return the files.

    An image depends on the seed, its split and its number alone: larger splits begin with the same images.

    Args:
        folder: where to write.
        train: number of training images.
        valid: number of validation images.
        test: number of test images.
        seed: of all random choices.
    """
    files = {}
    for split, count in (("train", train), ("valid", valid), ("test", test)):
        names = [f"images/{split}-{number:05d}.png" for number in range(count)]
        rows = [_write_scene(folder, name, seed) for name in names]
        files[split] = folder / f"{split}.jsonl"
        write_atomic(files[split], "".join(json.dumps(row) + "\n" for row in rows))
    return files


def read_things(file: Path, *, encoding: str | None = None) -> dict[str, list[NamedBox]]:
    """Read the things of each image by its absolute path, from a file that `write_shapes` wrote.

    A file whose first line has no things has none at all.

    Args:
        file: a `.jsonl` file; of any other file nothing is read.
        encoding: its encoding; None takes UTF-8, or guesses another one.

    Raises:
        DataError: a line behind the first has no things.
    """
    found: dict[str, list[NamedBox]] = {}
    if not file.name.endswith(".jsonl"):
        return found
    for number, line in enumerate(read_lines(file, ReadReport(encoding)), 1):
        if number == 1 and not ('"things"' in line and '"box"' in line):
            return found
        try:
            row = json.loads(line)
            things = [NamedBox(Box(*map(float, each["box"])), tuple(each["words"])) for each in row["things"]]
            found[str(file.absolute().parent / row["image"])] = things
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                "each line needs an image and its things, each with words and a box of four numbers; "
                f"{type(error).__name__}: {error}; fix it.",
                file=file,
                line=number,
            ) from None
    return found


def make_scene(random: np.random.Generator) -> Scene:
    """Draw two things of other colour or shape, clearly beside or clearly above each other, on a noisy background.

    One is clearly larger and named first; with a random order no model could know what to attend to for the first word.

    Args:
        random: the source of all choices; the same state gives the same scene.
    """
    names = _name_things(random)
    radii, centres = _place(random)
    masks = [_fill(shape, radius, centre) for (_, shape), radius, centre in zip(names, radii, centres, strict=True)]
    pixels = _paint_background(random)
    for (colour, _), mask in zip(names, masks, strict=True):
        pixels[mask] = np.array(COLOURS[colour]) + random.integers(-15, 16, 3)
    pixels += random.normal(0, random.uniform(0, 14), pixels.shape)
    one, other = (f"{'an' if colour == 'orange' else 'a'} {colour} {shape}" for colour, shape in names)
    return Scene(
        np.clip(pixels, 0, 255).astype(np.uint8),
        f"{one} {_relate(centres)} {other}",
        (NamedBox(_bound(masks[0]), names[0]), NamedBox(_bound(masks[1]), names[1])),
    )


def _write_scene(folder: Path, name: str, seed: int) -> dict[str, object]:
    scene = make_scene(np.random.default_rng([seed, zlib.crc32(name.encode())]))
    file = folder / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(scene.pixels).save(file, compress_level=1)
    except OSError as error:
        raise Seq2SeeError(f"{file} cannot be written: {error.strerror or error}; choose another place.") from error
    things = [
        {"words": list(thing.words), "box": [round(edge, 4) for edge in vars(thing.box).values()]}
        for thing in scene.things
    ]
    return {"image": name, "captions": [scene.caption], "things": things}


def _name_things(random: np.random.Generator) -> tuple[tuple[str, str], tuple[str, str]]:
    kinds = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    one, other = random.choice(len(kinds), 2, replace=False)
    return kinds[one], kinds[other]


def _place(random: np.random.Generator) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2 2"]]:
    """Draw radii and centres (x, y) in pixels until they fit."""
    while True:
        radii = np.array([random.uniform(*LARGE_RADII), random.uniform(*SMALL_RADII)]) * IMAGE_SIDE_PIXELS
        centres = random.uniform(radii[:, None] + 1, IMAGE_SIDE_PIXELS - radii[:, None] - 1, (2, 2))
        near, far = np.sort(abs(centres[0] - centres[1]))
        if far >= radii.sum() + MIN_GAP_PIXELS and far >= MIN_DIRECTION_RATIO * near:
            return radii, centres


def _fill(shape: str, radius: float, centre: Float[np.ndarray, "2"]) -> Bool[np.ndarray, "y x"]:
    x, y = (np.arange(IMAGE_SIDE_PIXELS) + 0.5 - middle for middle in centre)
    return SHAPES[shape](*np.broadcast_arrays(x[None] / radius, y[:, None] / radius))


def _paint_background(random: np.random.Generator) -> Float[np.ndarray, "y x 3"]:
    """Paint a grey that is lighter towards one side, with a tint and coarse spots."""
    grey, tint = random.uniform(60, 200), random.uniform(-12, 12, 3)
    slope = random.uniform(-25, 25, 2)
    ramp = np.linspace(-0.5, 0.5, IMAGE_SIDE_PIXELS)
    spots = np.kron(
        random.normal(0, random.uniform(0, 12), (8, 8)), np.ones((IMAGE_SIDE_PIXELS // 8, IMAGE_SIDE_PIXELS // 8))
    )
    return np.asarray((grey + slope[0] * ramp[None] + slope[1] * ramp[:, None] + spots)[..., None] + tint)


def _relate(centres: Float[np.ndarray, "2 2"]) -> str:
    """Say where the first thing is, seen from the second."""
    across, down = centres[0] - centres[1]
    if abs(across) > abs(down):
        return "left of" if across < 0 else "right of"
    return "above" if down < 0 else "below"


def _bound(mask: Bool[np.ndarray, "y x"]) -> Box:
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    edges = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    left, top, right, bottom = (float(edge) / IMAGE_SIDE_PIXELS for edge in edges)
    return Box(left, top, right, bottom)
