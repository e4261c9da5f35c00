"""How large the cache is, and its removal."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.system.files import DRAFT, cache_folder

FINGERPRINT = re.compile(r"[0-9a-f]{32}")  # as the cache names what it keeps by its content


@dataclass(frozen=True)
class CacheUsage:
    """What the cache takes.

    Args:
        folder: where the cache is.
        files: how many files it has.
        bytes: how large they are together.
    """

    folder: Path
    files: int
    bytes: int


def measure_cache() -> CacheUsage:
    """Count the files of the cache and their bytes."""
    entries = _list_entries()
    files = [file for entry in entries for file in (entry.rglob("*") if entry.is_dir() else [entry]) if file.is_file()]
    return CacheUsage(cache_folder(), len(files), sum(file.stat().st_size for file in files))


def clean_cache() -> None:
    """Remove what seq2see has put into the cache; files of others that are in the same folder stay."""
    for entry in _list_entries():
        try:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        except OSError as error:
            raise DataError(f"the cache cannot be removed: {error.strerror or error}.", file=entry) from error


def _list_entries() -> list[Path]:
    """List the files of ours by their names: SEQ2SEE_CACHE may name a folder that holds other files."""
    folder = cache_folder()
    fingerprints = [*folder.glob("*"), *folder.glob("features/*")]
    drafts = [entry for entry in folder.glob(".*.draft") if DRAFT.fullmatch(entry.name)]
    return sorted(
        [
            *drafts,
            *folder.glob("backbones/*.weights"),
            *(entry for entry in fingerprints if FINGERPRINT.fullmatch(entry.name)),
        ]
    )
