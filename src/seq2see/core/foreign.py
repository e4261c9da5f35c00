"""Code that is not ours: classes a configuration names as `my_file:MyScore`."""

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seq2see.core.errors import ConfigError


def foreign_kinds(tree: Any) -> list[str]:
    """All kinds in a configuration that name code outside this package."""
    if isinstance(tree, Mapping):
        own = [tree["kind"]] if isinstance(tree.get("kind"), str) and ":" in tree["kind"] else []
        return own + [kind for value in tree.values() for kind in foreign_kinds(value)]
    return []


def admit(tree: Any, folders: Iterable[Path], *, trust: bool, owner: str) -> list[Path]:
    """Let the code a configuration names be imported from the given folders; the files it comes from."""
    kinds = foreign_kinds(tree)
    if not kinds:
        return []
    if not trust:
        raise ConfigError(f"{owner} runs code of its own ({', '.join(kinds)}); read it first, then add --trust.")
    for folder in folders:
        if folder.is_dir() and str(folder.absolute()) not in sys.path:
            sys.path.append(str(folder.absolute()))
    specs = [importlib.util.find_spec(kind.partition(":")[0]) for kind in kinds]
    return [Path(spec.origin) for spec in specs if spec is not None and spec.origin]
