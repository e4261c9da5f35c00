"""The image modality: sources are images, prepared for an encoder as pixels or as features."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from jaxtyping import UInt8
from PIL import Image

from seq2see.core.box import Box
from seq2see.core.errors import ConfigError, DataError, Seq2SeeError, TokenError
from seq2see.core.json_text import read_json
from seq2see.core.registry import part
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.data.formats.image_file import read_image
from seq2see.data.formats.image_object import is_numbers, place_image
from seq2see.data.modalities.image_cells import list_occluders, name_cells
from seq2see.data.modalities.image_sources import ImageSources
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence
from seq2see.data.modalities.occluded_image import OccludedImage
from seq2see.data.modalities.target import Target
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, store_sources
from seq2see.data.storage.feature_cache import Features, FrozenEncoder

MAX_CACHED_BYTES = 1 << 30  # of pixels that are kept in memory
COST_OF_IMAGE = 64  # tokens of a text that are as much work

Side = Annotated[int, Ge(8), Le(2048)]


@dataclass(frozen=True, kw_only=True)
class ImageModality:
    """Images as squares of the same size, and in training their mirror images too.

    The whole image is squeezed into the square: a caption may speak of what is at an edge, so nothing is cut off.

    Args:
        size: width and height in pixels of what the encoder reads, from 8 to 2048.
        mirror: whether training shows each image as in a mirror half of the time; it must be false where left and right
            have a meaning. None: a training decides it from names, captions and images; elsewhere it is false.
        shift: the largest number of pixels that training moves an image by, down or up and to either side; what was at
            its edges fills the gap. 0 moves none; it must be 0 if features of a frozen encoder are cached.
    """

    name: ClassVar[Name] = "image"
    reads: ClassVar[DataKind] = "images"
    max_batch: ClassVar[int | None] = 64  # each is many numbers

    size: Side = 224
    mirror: bool | None = None
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
        """Return this modality: there is nothing to learn from the images.

        Args:
            sources: paths of images, which are not read.
        """
        return self

    def check(self, given: object) -> str:
        """Return the path of an image as a caller gave it.

        Args:
            given: a path, whose file is not read; or an image of Pillow, an array or a tensor, which becomes a file.
                Any other object is an error.
        """
        if isinstance(given, Image.Image) or is_numbers(given):
            return place_image(given)
        if not isinstance(given, str | PathLike):
            kind = type(given).__name__
            raise TokenError(f"predict takes an image, its path, or a list of them; got {kind}.")
        return str(fspath(given))

    def accepts(self, file: Path) -> bool:
        """Return True for any file: images, folders of them, and texts that list them.

        Args:
            file: a path.
        """
        return True

    def is_blank(self, source: str) -> bool:
        """Tell whether no image is named.

        Args:
            source: the path of an image.
        """
        return not source.strip()

    def to_json(self) -> str:
        """Return the modality as JSON, from which `from_json` makes it again."""
        return json.dumps({"kind": "images", **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "ImageModality":
        """Return the modality that `to_json` described.

        Args:
            text: the content of the file.

        Raises:
            TokenError: the file does not describe images.
        """
        try:
            made: ImageModality = part("tokenizer", read_json(text))()
        except (ValueError, ConfigError) as error:
            raise TokenError(f"this does not describe images: {error}") from error
        return made

    def read(self, file: str) -> UInt8[np.ndarray, "3 y x"]:
        """Return the pixels of one image, as RGB values from 0 to 255.

        Args:
            file: a path, or FILE#NUMBER of an image in an idx file.
        """
        squeezed = read_image(file, least=2 * self.size).resize((self.size, self.size), Image.Resampling.BICUBIC)
        return np.ascontiguousarray(np.asarray(squeezed).transpose(2, 0, 1))

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """Return what is wrong with each image that cannot be read, so that its pairs can be left out.

        Args:
            sources: paths of images.
            progress: called with how many images are read and how many there are; None reports nothing.
        """
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

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> ImageSources:
        """Prepare the images of a split: their pixels, or the features of a frozen encoder if there is a cache.

        Nothing is read before it is gathered; `fill` does the long part of it at once.

        Args:
            sources: paths of images, of which some may be equal.
            cache: the folder of prepared data; None makes the encoder read pixels.
            encoder: the encoder that reads the images; only a frozen one has features.
        """
        files = tuple(dict.fromkeys(sources))  # an image with five captions is five sources
        numbers = {file: number for number, file in enumerate(files)}
        places = np.array([numbers[source] for source in sources], dtype=np.int64)
        frozen = encoder if isinstance(encoder, FrozenEncoder) else None
        key = None if frozen is None else frozen.frozen_key
        if cache is None or frozen is None or key is None:
            return ImageSources(files, places, Pixels(self), mirror=bool(self.mirror), shift=self.shift)
        if self.shift:
            raise ConfigError(
                "shift moves pixels, but the features of a frozen backbone are computed once; set "
                "tokens.source.shift=0.",
                path=("tokens", "source", "shift"),
            )
        features = Features(cache, frozen, self.read, key=f"{key} {self.size}")
        return ImageSources(files, places, features, mirror=bool(self.mirror))

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """Prepare the images whose targets are not too long for training.

        Args:
            pairs: the pairs of a split.
            target: the vocabulary or labels of the targets.
            fingerprint: the name of the content.
            max_tokens: the largest number of ids of a target, the end mark included.
            cache: the folder of prepared data, for the features of a frozen encoder.
            encoder: the encoder that reads the images.
        """
        return store_sources(
            pairs, self, target, fingerprint=fingerprint, max_tokens=max_tokens, cache=cache, encoder=encoder
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """Return 0 for each image: it has no tokens that could be too many.

        Args:
            sources: paths of images.
        """
        return [0] * len(sources)

    def cost(self, source: str) -> int:
        """Return the cost of a text of 64 tokens.

        Args:
            source: the path of an image, which is not read.
        """
        return COST_OF_IMAGE

    def tokens(self, source: str) -> tuple[Token, ...]:
        """Return nothing: a position of an image is a cell of a grid.

        Args:
            source: the path of an image.
        """
        return ()

    def sentences(self, source: str) -> list[Sentence]:
        """Return nothing: an image has no sentences.

        Args:
            source: the path of an image.
        """
        return []

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """Return the cell of each position, row by row.

        Args:
            source: the path of an image.
            grid: the rows and columns of cells; None for a memory without cells, which returns nothing.
        """
        return name_cells(grid or (0, 0))

    def occlusion_units(self, source: str, grid: Grid) -> list[Box]:
        """Return the regions of a grid, row by row.

        Args:
            source: the path of an image.
            grid: the rows and columns of regions.
        """
        return list_occluders(grid)

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> OccludedImage:
        """Return the image, and then once with each region in the mean colour of the image.

        Args:
            source: the path of an image.
            units: regions of the image; spans of a text are an error.
        """
        boxes = [unit for unit in units if isinstance(unit, Box)]
        if len(boxes) < len(units):
            raise Seq2SeeError("what is occluded in an image must be regions of it (Box); got spans of a text.")
        return OccludedImage(*self.prepare([source]).gather([0]), boxes)

    def group_references(self, pairs: Pairs) -> Pairs:
        """Return each image once, with all its captions.

        Args:
            pairs: the pairs of a split.
        """
        return pairs.group()


class Pixels:
    """The pixels of images, kept in memory while there is room.

    Args:
        images: the modality that reads one image.
    """

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
        """Do nothing: pixels are read when they are needed.

        Args:
            files: the paths of the images.
            mirror: whether mirror images are needed too.
            progress: never called.
        """
