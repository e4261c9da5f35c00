"""The check of shapes and types that the tests run under: the first calls of each function in each test are looked at.

Later calls with the same kinds of tensors would tell nothing new, and looking costs as much as the work itself.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from beartype import beartype

LOOKS = 2 * 16  # each call is looked at twice: its arguments, and what it gives back
_seen: Counter[tuple[str, str]] = Counter()
_trusted: list[Any] = []


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The type checker for jaxtyping's import hook."""
    checked, place = beartype(function), (function.__module__, function.__qualname__)

    @wraps(function)
    def look(*args: Any, **options: Any) -> Any:
        _seen[place] += 1
        if _seen[place] == LOOKS:
            _trust(*place)
        return checked(*args, **options)

    return look


def forget() -> None:
    """Look again, because a new test begins."""
    while _trusted:
        del _trusted.pop().__no_type_check__
    _seen.clear()


def _trust(module: str, name: str) -> None:
    found: Any = sys.modules[module]
    for step in name.split("."):
        if step == "<locals>":
            return
        found = inspect.getattr_static(found, step)
    original = inspect.unwrap(getattr(found, "fget", None) or getattr(found, "__func__", found))
    original.__no_type_check__ = True  # jaxtyping asks for it at every call
    _trusted.append(original)
