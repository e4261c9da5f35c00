"""The image modality: sources are images, prepared for an encoder as pixels or as features."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Int64, Shaped, UInt8
from PIL import Image
from torch import Tensor

from seq2see.core.box import Box
from seq2see.core.errors import ConfigError, DataError, Seq2SeeError, TokenError
from seq2see.core.registry import part
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.data.formats.image_file import read_image
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence, Sources, Target
from seq2see.data.modalities.occluded_image import OccludedImage
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, store_sources
from seq2see.data.storage.feature_cache import Features, FrozenEncoder

MAX_CACHED_BYTES = 1 << 30  # of pixels that are kept in memory
COST_OF_IMAGE = 64  # tokens of a text that are as much work
CELL = "row\N{NARROW NO-BREAK SPACE}{},\N{NARROW NO-BREAK SPACE}column\N{NARROW NO-BREAK SPACE}{}"

Side = Annotated[int, Ge(8), Le(2048)]


@dataclass(frozen=True, kw_only=True)
class ImageModality:
    """Images as squares of `size` pixels a side, and in training their mirror images too.

    The whole image is squeezed into the square: a caption may speak of what is at an edge, so nothing is cut
    off. Where left and right have a meaning, mirror must be false. In training an image may be moved by up to `shift`
    pixels each way, and its edges fill the gap.
    """

    name: ClassVar[Name] = "image"
    reads: ClassVar[DataKind] = "images"
    max_batch: ClassVar[int | None] = 64  # each is many numbers

    size: Side = 224
    mirror: bool = True
    shift: Annotated[int, Ge(0)] = 0

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that an encoder of images is built with."""
        return {"image_size": self.size}

    @property
    def tokenizer(self) -> None:
        """An image has no tokens."""
        return None

    def learn(self, sources: Iterable[str]) -> "ImageModality":
        """There is nothing to learn from the images."""
        return self

    def check(self, given: object) -> str:
        """The path of an image as a caller gave it."""
        if not isinstance(given, str | PathLike):
            raise TokenError(f"predict takes the path of an image, or a list of them; got {type(given).__name__}.")
        return str(fspath(given))

    def accepts(self, file: Path) -> bool:
        """Any file: images, folders of them, and texts that list them."""
        return True

    def is_blank(self, source: str) -> bool:
        """Whether no image is named."""
        return not source.strip()

    def to_json(self) -> str:
        """Everything needed to make this again."""
        return json.dumps({"kind": "images", **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "ImageModality":
        """What `to_json` described."""
        try:
            made: ImageModality = part("tokenizer", json.loads(text))()
        except (ValueError, ConfigError) as error:
            raise TokenError(f"this does not describe images: {error}") from error
        return made

    def read(self, file: str) -> UInt8[np.ndarray, "3 y x"]:
        """The pixels of one image."""
        squeezed = read_image(file, least=2 * self.size).resize((self.size, self.size), Image.Resampling.BICUBIC)
        return np.ascontiguousarray(np.asarray(squeezed).transpose(2, 0, 1))

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """What is wrong with each image that cannot be read, so that its pairs can be left out."""
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

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> "ImageSources":
        """All images of a split: pixels, or the features of a frozen encoder, if there is a cache for them.

        Nothing is read before it is gathered; `fill` does the long part of it at once.
        """
        files = tuple(dict.fromkeys(sources))  # an image with five captions is five sources
        numbers = {file: number for number, file in enumerate(files)}
        places = np.array([numbers[source] for source in sources], dtype=np.int64)
        frozen = encoder if isinstance(encoder, FrozenEncoder) else None
        key = None if frozen is None else frozen.frozen_key
        if cache is None or frozen is None or key is None:
            return ImageSources(files, places, Pixels(self), mirror=self.mirror, shift=self.shift)
        if self.shift:
            raise ConfigError(
                "shift moves pixels, but the features of a frozen backbone are computed once; set "
                "tokens.source.shift=0.",
                path=("tokens", "source", "shift"),
            )
        features = Features(cache, frozen, self.read, key=f"{key} {self.size}")
        return ImageSources(files, places, features, mirror=self.mirror)

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """The images whose targets are not too long, ready for training."""
        return store_sources(
            pairs, self, target, fingerprint=fingerprint, max_tokens=max_tokens, cache=cache, encoder=encoder
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """None: an image has no tokens that could be too many."""
        return [0] * len(sources)

    def cost(self, source: str) -> int:
        """As much as a long text."""
        return COST_OF_IMAGE

    def tokens(self, source: str) -> tuple[Token, ...]:
        """None: a position of an image is a cell of a grid."""
        return ()

    def sentences(self, source: str) -> list[Sentence]:
        """None."""
        return []

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """A position is a cell of the grid, in reading order."""
        return name_cells(grid or (0, 0))

    def occlusion_units(self, source: str, grid: Grid) -> list[Box]:
        """The regions of a grid, row by row."""
        return list_cells(grid)

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> OccludedImage:
        """The image, and then once with each region in the mean colour of the image."""
        boxes = [unit for unit in units if isinstance(unit, Box)]
        if len(boxes) < len(units):
            raise Seq2SeeError("what is occluded in an image must be regions of it (Box); got spans of a text.")
        return OccludedImage(*self.prepare([source]).gather([0]), boxes)

    def group_references(self, pairs: Pairs) -> Pairs:
        """An image once, with all its captions."""
        return pairs.group()


def name_cells(grid: Grid) -> tuple[Token, ...]:
    """The cells of a grid in reading order."""
    rows, columns = grid
    return tuple(Token(CELL.format(y, x), 0, 0) for y in range(1, rows + 1) for x in range(1, columns + 1))


def list_cells(grid: Grid) -> list[Box]:
    """The cells of a grid as regions, row by row."""
    rows, columns = grid
    return [Box(x / columns, y / rows, (x + 1) / columns, (y + 1) / rows) for y in range(rows) for x in range(columns)]


@runtime_checkable
class ImageReader(Protocol):
    """What an encoder is given for the file of an image, mirrored or not."""

    def __call__(self, file: str, mirrored: bool) -> np.ndarray: ...

    def fill(self, files: Sequence[str], *, mirror: bool, progress: Progress | None = None) -> None:
        """Compute now what would otherwise take long later."""


class Pixels:
    """The pixels of images, kept in memory while there is room."""

    def __init__(self, images: ImageModality) -> None:
        self._images = images
        self._kept: dict[str, UInt8[np.ndarray, "3 y x"]] = {}

    def __call__(self, file: str, mirrored: bool) -> UInt8[np.ndarray, "3 y x"]:
        pixels = self._kept.get(file)
        if pixels is None:
            pixels = self._images.read(file)
            if len(self._kept) < MAX_CACHED_BYTES // pixels.nbytes:
                self._kept[file] = pixels
        return pixels[:, :, ::-1] if mirrored else pixels

    def fill(self, files: Sequence[str], *, mirror: bool, progress: Progress | None = None) -> None:
        """Pixels are read when they are needed."""


@dataclass(frozen=True)
class ImageSources(Sources):
    """Prepared images: pixels, or the features that a frozen encoder takes in their place."""

    files: Sequence[str]  # each image once
    places: Int64[np.ndarray, " n"]  # which of them each source is
    reader: ImageReader
    mirror: bool = False  # whether training may turn left and right round
    mirrored: Bool[np.ndarray, " n"] | None = None  # which sources are turned round
    shift: int = 0  # how far training may move them
    moves: Int64[np.ndarray, "n 2"] | None = None  # by how many pixels each is moved down and to the right

    def __len__(self) -> int:
        return len(self.places)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """Each image counts as one position."""
        return np.ones(len(self.places), dtype=np.int64)

    def gather(self, rows: Sequence[int]) -> tuple[Shaped[Tensor, "b d y x"], Bool[Tensor, "b 1"]]:
        """Some of them as one batch, and a mask that hides nothing."""
        chosen = [
            (self.files[self.places[row]], self.mirrored is not None and bool(self.mirrored[row])) for row in rows
        ]
        seen = [self.reader(file, mirrored) for file, mirrored in chosen]
        if self.moves is not None:
            seen = [move(each, *self.moves[row].tolist()) for each, row in zip(seen, rows, strict=True)]
        batch = np.stack(seen)
        return torch.from_numpy(batch), torch.ones(len(rows), 1, dtype=torch.bool)

    def fill(self, *, training: bool = False, progress: Progress | None = None) -> None:
        """Make all features that are not in the cache yet, for training those of the mirror images too."""
        self.reader.fill(self.files, mirror=training and self.mirror, progress=progress)

    def keys(self) -> Iterable[Hashable]:
        """The place of each source's image among all images."""
        return self.places.tolist()

    def vary(self, *, seed: int, epoch: int) -> "ImageSources":
        """The same images as one epoch of training sees them: half of them, by chance, as in a mirror, and moved."""
        varied = self
        if self.mirror:
            self.fill(training=True)
            chance = np.random.default_rng([seed, epoch, 1])  # 1: another stream than that of the order of batches
            varied = replace(varied, mirrored=chance.random(len(self)) < 0.5)
        if self.shift:
            chance = np.random.default_rng([seed, epoch, 2])
            varied = replace(varied, moves=chance.integers(-self.shift, self.shift, (len(self), 2), endpoint=True))
        return varied


def move(pixels: UInt8[np.ndarray, "c y x"], down: int, right: int) -> UInt8[np.ndarray, "c y x"]:
    """An image moved by some pixels; what was at its edges fills the gap."""
    rows, columns = (np.arange(side) - by for side, by in zip(pixels.shape[1:], (down, right), strict=True))
    return pixels[:, rows.clip(0, len(rows) - 1)][:, :, columns.clip(0, len(columns) - 1)]
