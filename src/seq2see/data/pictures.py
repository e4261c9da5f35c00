"""Pictures as sources: all pictures of a split made ready for an encoder, as pixels or as features."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Int64, Shaped, UInt8
from PIL import Image
from torch import Tensor

from seq2see.core.errors import ConfigError, DataError, TokenError
from seq2see.core.registry import part
from seq2see.data.features import Features, Progress
from seq2see.data.image import read_picture

ROOM = 1 << 30  # bytes of pixels that are kept in memory

Side = Annotated[int, Ge(8), Le(2048)]


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pictures as squares of `size` pixels a side, and in training their mirror images too.

    The whole picture is squeezed into the square: a caption may speak of what stands at an edge, so nothing is cut
    off. Where left and right have a meaning, mirror must be false. In training a picture may be moved by up to `shift`
    pixels each way, and its edges fill the gap.
    """

    size: Side = 224
    mirror: bool = True
    shift: Annotated[int, Ge(0)] = 0

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

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: Any = None) -> "PictureSources":
        """All pictures of a split: pixels, or what a frozen encoder sees in them, if there is a cache to keep that in.

        Nothing is read before it is gathered; `fill` does the long part of it at once.
        """
        files = tuple(dict.fromkeys(sources))  # a picture with five captions is five sources
        numbers = {file: number for number, file in enumerate(files)}
        places = np.array([numbers[source] for source in sources], dtype=np.int64)
        key = getattr(encoder, "frozen_key", None)
        if cache is None or key is None:
            return PictureSources(files, places, Pixels(self), mirror=self.mirror, shift=self.shift)
        if self.shift:
            raise ConfigError(
                "shift moves pixels, but what a backbone that does not learn sees in them is computed once; set "
                "tokens.source.shift=0.",
                path=("tokens", "source", "shift"),
            )
        features = Features(cache, encoder, self.read, key=f"{key} {self.size}")
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
    shift: int = 0  # how far training may move them
    moves: Int64[np.ndarray, "n 2"] | None = None  # by how many pixels each is moved down and to the right

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
        seen = [self.look(file, mirrored) for file, mirrored in chosen]
        if self.moves is not None:
            seen = [move(each, *self.moves[row].tolist()) for each, row in zip(seen, rows, strict=True)]
        batch = np.stack(seen)
        return torch.from_numpy(batch), torch.ones(len(rows), 1, dtype=torch.bool)

    def fill(self, *, training: bool = False, progress: Progress | None = None) -> None:
        """Make all features that are not in the cache yet, for training those of the mirror images too."""
        if isinstance(self.look, Features):
            self.look.fill(self.files, mirror=training and self.mirror, progress=progress)

    def vary(self, *, seed: int, epoch: int) -> "PictureSources":
        """The same pictures as one epoch of training sees them: half of them, by chance, as in a mirror, and moved."""
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
    """A picture moved by some pixels; what was at its edges fills the gap."""
    rows, columns = (np.arange(side) - by for side, by in zip(pixels.shape[1:], (down, right), strict=True))
    return pixels[:, rows.clip(0, len(rows) - 1)][:, :, columns.clip(0, len(columns) - 1)]
