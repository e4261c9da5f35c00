"""Pictures: from files as people have them to pixels, and all pictures of a split made ready for an encoder."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Int64, Shaped, UInt8
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from seq2see.core.errors import ConfigError, DataError, TokenError
from seq2see.core.registry import part
from seq2see.data.features import Features, Progress
from seq2see.data.idx import read_idx_picture, read_source, split_place

FORMATS = ("JPEG", "MPO", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")  # none that runs another program, as EPS does
LARGEST = 90_000_000  # pixels that are decoded at once; a file that asks for more is a mistake or an attack
ROOM = 1 << 30  # bytes of pixels that are kept in memory
ORIENTATION = 0x0112  # the EXIF tag that says how the camera was held
TURNS = dict(
    zip(
        range(2, 9),
        (
            Image.Transpose.FLIP_LEFT_RIGHT,
            Image.Transpose.ROTATE_180,
            Image.Transpose.FLIP_TOP_BOTTOM,
            Image.Transpose.TRANSPOSE,
            Image.Transpose.ROTATE_270,
            Image.Transpose.TRANSVERSE,
            Image.Transpose.ROTATE_90,
        ),
        strict=True,
    )
)

Side = Annotated[int, Ge(8), Le(2048)]


def read_picture(file: Path | str, *, least: int = 0) -> Image.Image:
    """The picture in a file: upright, RGB, transparent parts white, of an animation the first frame.

    A large JPEG is decoded smaller, if its sides are needed no longer than `least`.
    """
    return open_picture(read_source(str(file)), name=file, least=least)


def measure_picture(file: str) -> tuple[int, int]:
    """Width and height, without decoding more than is needed to know them; (0, 0) if the file is no picture."""
    place = split_place(file)
    if place is not None:
        height, width = read_idx_picture(*place).shape
        return width, height
    try:
        with Image.open(file) as picture:
            return picture.size
    except Exception:  # what is wrong with it is told where it is needed
        return 0, 0


def open_picture(data: bytes, *, name: Path | str, least: int = 0) -> Image.Image:
    """The same from the bytes of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata: what matters is raised
            return _decode(data, least)
    except Image.DecompressionBombError:
        raise DataError(
            f"a picture must have at most {LARGEST // 10**6} million pixels; got more; make it smaller, or leave it "
            "out.",
            file=name,
        ) from None
    except UnidentifiedImageError:
        raise DataError(
            "a picture must be a JPEG, PNG, GIF, WebP, BMP, TIFF or PPM file; got something else; convert it or leave "
            "it out.",
            file=name,
        ) from None
    except Exception as error:  # whatever a decoder raises at a damaged file
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"the picture is damaged: {reason}; copy it again or leave it out.", file=name) from error


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pictures as squares of `size` pixels a side, and in training their mirror images too.

    The whole picture is squeezed into the square: a caption may speak of what stands at an edge, so nothing is cut
    off. Where left and right have a meaning, mirror must be false.
    """

    size: Side = 224
    mirror: bool = True

    @property
    def sizes(self) -> Mapping[str, int]:
        """What an encoder of such pictures must be told."""
        return {"picture_size": self.size}

    def learn(self, sources: Iterable[str]) -> "Pictures":
        """There is nothing to learn from the pictures."""
        return self

    def is_blank(self, source: str) -> bool:
        """Whether no picture is named."""
        return not source.strip()

    def to_json(self) -> str:
        """Everything needed to make this again."""
        return json.dumps({"kind": "pictures", **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Pictures":
        """What `to_json` described."""
        try:
            made: Pictures = part("tokenizer", json.loads(text))()
        except (ValueError, ConfigError) as error:
            raise TokenError(f"this does not describe pictures: {error}") from error
        return made

    def read(self, file: str) -> UInt8[np.ndarray, "3 y x"]:
        """The pixels of one picture."""
        squeezed = read_picture(file, least=2 * self.size).resize((self.size, self.size), Image.Resampling.BICUBIC)
        return np.ascontiguousarray(np.asarray(squeezed).transpose(2, 0, 1))

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """What is wrong with each picture that cannot be read, so that its pairs can be left out."""
        broken: dict[str, DataError] = {}
        files = list(dict.fromkeys(sources))
        for number, file in enumerate(files, 1):
            try:
                self.read(file)
            except DataError as error:
                broken[file] = error
            if progress is not None:
                progress(number, len(files))
        return broken

    def prepare(
        self,
        sources: Sequence[str],
        *,
        cache: Path | None = None,
        encoder: Any = None,
        training: bool = False,
        progress: Progress | None = None,
    ) -> "PictureSources":
        """All pictures of a split: pixels, or what a frozen encoder sees in them, if there is a cache to keep that in.

        In training the mirror images are made ready as well.
        """
        files = tuple(dict.fromkeys(sources))  # a picture with five captions is five sources
        numbers = {file: number for number, file in enumerate(files)}
        places = np.array([numbers[source] for source in sources], dtype=np.int64)
        key = getattr(encoder, "frozen_key", None)
        if cache is None or key is None:
            return PictureSources(files, places, Pixels(self), mirror=self.mirror)
        features = Features(cache, encoder, self.read, key=f"{key} {self.size}")
        features.fill(files, mirror=training and self.mirror, progress=progress)
        return PictureSources(files, places, features, mirror=self.mirror)


class Pixels:
    """The pixels of pictures, kept in memory while there is room."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._kept: dict[str, UInt8[np.ndarray, "3 y x"]] = {}

    def __call__(self, file: str, mirrored: bool) -> UInt8[np.ndarray, "3 y x"]:
        pixels = self._kept.get(file)
        if pixels is None:
            pixels = self._pictures.read(file)
            if len(self._kept) < ROOM // pixels.nbytes:
                self._kept[file] = pixels
        return pixels[:, :, ::-1] if mirrored else pixels


@dataclass(frozen=True)
class PictureSources:
    """Pictures made ready: pixels, or the features that a frozen encoder takes in their place."""

    files: Sequence[str]  # each picture once
    places: Int64[np.ndarray, " n"]  # which of them each source is
    look: Callable[[str, bool], np.ndarray]  # what an encoder gets for a file, mirrored or not
    mirror: bool = False  # whether training may turn left and right round
    mirrored: Bool[np.ndarray, " n"] | None = None  # which sources are turned round

    def __len__(self) -> int:
        return len(self.places)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """What each picture costs an encoder: the same."""
        return np.ones(len(self.places), dtype=np.int64)

    def gather(self, rows: Sequence[int]) -> tuple[Shaped[Tensor, "b d y x"], Bool[Tensor, "b 1"]]:
        """Some of them as one batch, and a mask that hides nothing."""
        chosen = [
            (self.files[self.places[row]], self.mirrored is not None and bool(self.mirrored[row])) for row in rows
        ]
        batch = np.stack([self.look(file, mirrored) for file, mirrored in chosen])
        return torch.from_numpy(batch), torch.ones(len(rows), 1, dtype=torch.bool)

    def vary(self, *, seed: int, epoch: int) -> "PictureSources":
        """The same pictures as one epoch of training sees them: half of them, by chance, as in a mirror."""
        if not self.mirror:
            return self
        if isinstance(self.look, Features):
            self.look.fill(self.files, mirror=True)  # what was not made before
        chance = np.random.default_rng([seed, epoch, 1])  # 1: another stream than that of the order of batches
        return replace(self, mirrored=chance.random(len(self)) < 0.5)


def _decode(data: bytes, least: int) -> Image.Image:
    Image.init()
    image: Image.Image = Image.open(BytesIO(data), formats=[name for name in FORMATS if name in Image.OPEN])
    if least:
        image.draft(None, (least, least))
    if image.width * image.height > LARGEST:
        raise Image.DecompressionBombError
    image.load()
    return _flatten(_turn(image))


def _turn(image: Image.Image) -> Image.Image:
    """Upright, however the camera was held; a picture whose metadata cannot be read stays as it is."""
    turn = None
    with suppress(Exception):
        turn = TURNS.get(image.getexif().get(ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def _flatten(image: Image.Image) -> Image.Image:
    """Any mode as RGB, on white where it is transparent."""
    if image.mode == "F" or image.mode.startswith("I"):
        image = _narrow(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _narrow(image: Image.Image) -> Image.Image:
    """Grey values of 16 bits, or fractions, as 8 bits; Pillow would cut off all above 255."""
    values = np.nan_to_num(np.asarray(image).astype(np.float64))
    if image.mode != "F":
        values = values / 257
    elif values.max() <= 1:
        values = values * 255
    return Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
