"""Code of users, which a configuration names as `my_file:MyScore`: whether it is trusted, and from which file."""

import importlib
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from seq2see.core.errors import ConfigError
from seq2see.core.registry import is_foreign, shorten, trust_modules

KEYS_WITHOUT_CODE = ("data", "init", "runs", "ban", "backbone", "separator")  # their values are files and other texts

_importing = threading.Lock()  # held while the path of Python is changed, because runs may be loaded at once


def foreign_kinds(tree: object) -> list[str]:
    """Return all values of a configuration that may name code outside this package.

    Args:
        tree: a configuration of dicts, lists, tuples and plain values; what is below `KEYS_WITHOUT_CODE` is not read.
    """
    if isinstance(tree, str):
        return [tree] if is_foreign(tree) else []
    branches: Sequence[object] = tree if isinstance(tree, list | tuple) else ()
    if isinstance(tree, Mapping):
        branches = [value for key, value in tree.items() if key not in KEYS_WITHOUT_CODE]
    return [kind for branch in branches for kind in foreign_kinds(branch)]


def admit(tree: object, folders: Iterable[Path], *, trust: bool, owner: str) -> list[Path]:
    """Let the code that a configuration names be imported, and return the files it comes from.

    Args:
        tree: the configuration, as dicts and lists.
        folders: where the code may be, the first one first; those that do not exist are left out.
        trust: whether the user allows it to run.
        owner: whose code it is, with which the error message begins.

    Raises:
        ConfigError: if there is code that the user does not trust, a file is missing, or Python has already imported
            other code under its name.
    """
    kinds = foreign_kinds(tree)
    if not kinds:
        return []
    if not trust:
        raise ConfigError(
            f"{owner} runs code of its own ({shorten(', '.join(kinds))[1:-1]}); read it first, then add --trust."
        )
    open_folders = [folder.absolute() for folder in folders if folder.is_dir()]
    sys.path += [str(folder) for folder in open_folders if str(folder) not in sys.path]
    importlib.invalidate_caches()
    modules = dict.fromkeys(kind.partition(":")[0] for kind in kinds)
    trust_modules(modules)
    return [_locate(module, open_folders) for module in modules]


def _locate(module: str, folders: Sequence[Path]) -> Path:
    """Import a module from these folders and return its file; other code under its name is an error."""
    file = next((folder / f"{module}.py" for folder in folders if (folder / f"{module}.py").is_file()), None)
    if file is None or file.stem != module:
        # also if Python has such a module elsewhere: a configuration may name your file, never any code there is
        raise ConfigError(
            f"{module}.py must be beside the config or the data, or in this folder, but is not there; "
            "put it there (an installed package adds its parts through entry points)."
        )
    with _importing:
        sys.path.insert(0, str(file.parent))  # before the current folder, which may have a newer version
        with suppress(Exception):  # the registry explains what is wrong with it
            importlib.import_module(module)
        sys.path.remove(str(file.parent))
    taken = Path(getattr(sys.modules.get(module), "__file__", None) or file)
    if taken.read_bytes() != file.read_bytes():
        raise ConfigError(
            f"{file}: Python has already imported other code as {module} ({taken}); start again, or rename the file."
        )
    return taken
