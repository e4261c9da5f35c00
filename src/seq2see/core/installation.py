"""How to install what is missing: the command that works for this copy of seq2see, from a clone or from an index."""

import json
import os
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

SOURCE = Path(__file__).parents[3]  # of a clone, beside `src`


def say_install(*packages: str, extra: str = "") -> str:
    """Return the command that installs an extra of ours, or packages of others, into this environment.

    From a clone, it keeps the versions pinned in constraints.txt.

    Args:
        *packages: names of packages, such as sacrebleu[ja].
        extra: the name of an extra, such as serve; empty: none.
    """
    python = _shorten(Path(sys.executable)) if sys.executable else "python"
    clone = _find_clone()
    words = [python, "-m", "pip", "install"]
    if clone is not None and (clone / "constraints.txt").is_file():
        words += ["-c", _shorten(clone / "constraints.txt")]
    if extra:
        editable = clone == SOURCE
        words += ["-e"] * editable + [f"{_shorten(clone)}[{extra}]" if clone is not None else f"seq2see[{extra}]"]
    return " ".join(_quote(word) for word in [*words, *packages])


def _find_clone() -> Path | None:
    """Return the folder with the source that seq2see runs or was installed from; None if it came from an index."""
    if (SOURCE / "pyproject.toml").is_file():
        return SOURCE
    try:
        origin = json.loads(distribution("seq2see").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    parts = urlsplit(origin.get("url", ""))
    folder = Path(url2pathname(parts.path))
    return folder if parts.scheme == "file" and (folder / "pyproject.toml").is_file() else None


def _shorten(path: Path) -> str:
    """Return a path from the current folder, if it is below it."""
    here = Path.cwd()
    return os.path.relpath(path, here) if path.is_relative_to(here) else str(path)


def _quote(word: str) -> str:
    """Quote a word for a shell where it needs that, as people write it."""
    quoted = shlex.quote(word)
    return quoted if quoted == word or set('"$`\\!') & set(word) else f'"{word}"'
