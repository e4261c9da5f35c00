"""Code that is not ours: classes a configuration names as `my_file:MyScore`."""

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from seq2see.core.errors import ConfigError
from seq2see.core.registry import is_foreign

PLAIN = ("data", "init", "runs", "ban", "backbone", "separator")  # keys whose words are files, models and other words

_admitted: set[str] = set()  # modules that somebody trusts


def foreign_kinds(tree: Any) -> list[str]:
    """All words of a configuration that may name code outside this package."""
    if isinstance(tree, str):
        return [tree] if is_foreign(tree) else []
    branches: Sequence[Any] = tree if isinstance(tree, list | tuple) else ()
    if isinstance(tree, Mapping):
        branches = [value for key, value in tree.items() if key not in PLAIN]
    return [kind for branch in branches for kind in foreign_kinds(branch)]


def admit(tree: Any, folders: Iterable[Path], *, trust: bool, owner: str) -> list[Path]:
    """Let the code a configuration names be imported from the given folders; the files it comes from."""
    kinds = foreign_kinds(tree)
    if not kinds:
        return []
    if not trust:
        raise ConfigError(f"{owner} runs code of its own ({', '.join(kinds)}); read it first, then add --trust.")
    open_folders = [folder.absolute() for folder in folders if folder.is_dir()]
    sys.path += [str(folder) for folder in open_folders if str(folder) not in sys.path]
    importlib.invalidate_caches()
    modules = dict.fromkeys(kind.partition(":")[0] for kind in kinds)
    _admitted.update(modules)
    return [_locate(module, open_folders) for module in modules]


def is_admitted(kind: str) -> bool:
    """Whether a configuration that is trusted names code of this module."""
    return kind.partition(":")[0] in _admitted


def _locate(module: str, folders: Sequence[Path]) -> Path:
    """The file of a module in these folders, imported; an error if other code of that name was imported before."""
    file = next((folder / f"{module}.py" for folder in folders if (folder / f"{module}.py").is_file()), None)
    if file is None or file.stem != module:
        # also if Python has such a module elsewhere: a configuration may name your file, never any code there is
        raise ConfigError(
            f"{module}.py must stand beside the config, the data or in this folder, but does not; "
            "put it there (an installed package adds its parts through entry points)."
        )
    sys.path.insert(0, str(file.parent))  # before the folder one is in, which may hold a newer version
    with suppress(Exception):  # the registry explains what is wrong with it
        importlib.import_module(module)
    sys.path.remove(str(file.parent))
    taken = Path(getattr(sys.modules.get(module), "__file__", None) or file)
    if taken.read_bytes() != file.read_bytes():
        raise ConfigError(f"{file}: Python knows other code as {module} ({taken}); start again, or rename the file.")
    return taken
