"""The features of a frozen encoder: computed once, and kept on the disk in half precision, one file an image.

A file of its own for each image makes an entry the unit of everything: an interrupted extraction goes on where it
was, a damaged entry is made anew, and several programs may fill one cache. What is read often, the system keeps in
memory.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32, UInt8
from torch import Tensor

from seq2see.core.errors import DataError
from seq2see.data.formats.idx import read_source
from seq2see.data.modalities.modality import Progress
from seq2see.system.checksums import append_checksum, strip_checksum
from seq2see.system.files import draft_path, remove_dead_drafts

log = logging.getLogger("seq2see")

BATCH = 32  # images that are encoded at once
MAX_HALF = float(np.finfo(np.float16).max)

Wanted = tuple[str, bool]  # a file, and whether its mirror image is meant


@runtime_checkable
class FrozenEncoder(Protocol):
    """An encoder that may rest on a frozen backbone."""

    @property
    def frozen_key(self) -> str | None:
        """What the features depend on besides the pixels; None if they change in training."""

    def see(self, pixels: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, "b d u v"]:
        """Return the features that the encoder also accepts in place of the pixels, `[b d u v]`.

        Args:
            pixels: RGB values of images from 0 to 255, `[b 3 y x]`.
        """


class Features:
    """The features of images, named in the cache by the content of the image files.

    Args:
        cache: the folder of the cache; features are in its sub-folder `features`.
        encoder: the frozen encoder that computes the features.
        read: reads the RGB values `[3 y x]` of the image at a path.
        key: what the features depend on besides the pixels; another key has other entries.
    """

    def __init__(
        self, cache: Path, encoder: FrozenEncoder, read: Callable[[str], UInt8[np.ndarray, "3 y x"]], *, key: str
    ) -> None:
        self._folder = cache / "features" / hashlib.sha256(key.encode()).hexdigest()[:32]
        self._encoder, self._read = encoder, read
        self._digests: dict[str, str] = {}
        self._warned = False

    def __call__(self, file: str, mirrored: bool) -> Float32[np.ndarray, "d y x"]:
        """Return the features of one image; an entry that is missing or damaged is computed again."""
        entry = self._entry(file, mirrored)
        with suppress(OSError, ValueError, EOFError):
            return _load(entry).astype(np.float32)
        if entry.exists() and not self._warned:
            log.warning("%s: the entry was damaged and is made again, as others will be without a warning.", entry)
            self._warned = True
        self._make([(file, mirrored)])
        return _load(entry).astype(np.float32)

    def fill(self, files: Sequence[str], *, mirror: bool, progress: Progress | None = None) -> None:
        """Compute the entries that are missing, in batches; an interrupted run goes on where it was.

        Args:
            files: the paths of the images.
            mirror: whether the mirror images need features too.
            progress: called with the number of entries that are there and the number of all; None reports nothing.
        """
        wanted = [(file, mirrored) for file in files for mirrored in ((False, True) if mirror else (False,))]
        for folder in self._folder.glob("*"):
            remove_dead_drafts(folder)
        missing = [each for each in wanted if not self._entry(*each).is_file()]
        for start in range(0, len(missing), BATCH):
            if progress is not None:
                progress(len(wanted) - len(missing) + start, len(wanted))
            self._make(missing[start : start + BATCH])
        if progress is not None:
            progress(len(wanted), len(wanted))

    def _make(self, wanted: Sequence[Wanted]) -> None:
        pixels = [self._read(file)[:, :, ::-1] if mirrored else self._read(file) for file, mirrored in wanted]
        with torch.no_grad():
            seen = self._encoder.see(torch.from_numpy(np.stack(pixels)))
        for each, features in zip(wanted, seen.float().clamp(-MAX_HALF, MAX_HALF).cpu().numpy(), strict=True):
            _store(self._entry(*each), features.astype(np.float16))

    def _entry(self, file: str, mirrored: bool) -> Path:
        if file not in self._digests:
            self._digests[file] = hashlib.sha256(read_source(file)).hexdigest()[:40]
        digest = self._digests[file]
        return self._folder / digest[:2] / f"{digest}{'-mirrored' if mirrored else ''}.npy"


def _load(entry: Path) -> Float16[np.ndarray, "d y x"]:
    return np.load(BytesIO(strip_checksum(entry.read_bytes())), allow_pickle=False)


def _store(entry: Path, features: Float16[np.ndarray, "d y x"]) -> None:
    """Put an entry in place as a whole; not forced to the disk, because the check tells what a power cut left."""
    buffer = BytesIO()
    np.save(buffer, features, allow_pickle=False)
    draft = draft_path(entry)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(append_checksum(buffer.getvalue()))
        os.replace(draft, entry)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        reason = error.strerror or error
        raise DataError(
            f"features cannot be kept: {reason}; set SEQ2SEE_CACHE to another folder.", file=entry
        ) from error
