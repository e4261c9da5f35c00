"""Everything public has a docstring that explains its arguments, and no docstring names an argument that is gone."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.models import ParameterInfo

import seq2see

SOURCE = Path(seq2see.__file__).parent
ROOMS = ["", *sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))]
SECTION = re.compile(r"^Args:\n((?:(?:    .*)?\n)*)", re.MULTILINE)
ARGUMENT = re.compile(r"^    \*{0,2}(\w+):(?=\s)", re.MULTILINE)


class Public(NamedTuple):
    """A public class or function, and the class that a method belongs to."""

    name: str
    value: type | Callable[..., object]
    owner: type | None = None


def list_public(room: str) -> Iterator[Public]:
    """All public classes, methods and functions of a package, or of the modules beside the packages."""
    for module in list_modules(room):
        for name, value in vars(importlib.import_module(module)).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module:
                continue
            if inspect.isclass(value):
                yield Public(f"{module}.{name}", value)
                yield from list_methods(f"{module}.{name}", value)
            elif inspect.isfunction(value):
                yield Public(f"{module}.{name}", value)


def list_modules(room: str) -> list[str]:
    """The dotted names of the modules of a package, itself included."""
    package = f"seq2see.{room}".rstrip(".")
    find = pkgutil.walk_packages if room else pkgutil.iter_modules
    inside = [each.name for each in find([str(SOURCE / room)], f"{package}.") if room or not each.ispkg]
    return [package, *(name for name in inside if not name.endswith("__main__"))]


def list_methods(prefix: str, owner: type) -> Iterator[Public]:
    """The public methods that a class defines itself, without those that a library adds to its subclasses."""
    for name, held in vars(owner).items():
        method = held.__func__ if isinstance(held, classmethod | staticmethod) else held
        if inspect.isfunction(method) and not name.startswith("_") and method.__module__.startswith("seq2see"):
            yield Public(f"{prefix}.{name}", method, owner)


def read_explained(docstring: str | None) -> set[str]:
    """The arguments that the section `Args:` of a docstring explains."""
    sections = SECTION.findall(inspect.cleandoc(docstring or "") + "\n")
    return {name for section in sections for name in ARGUMENT.findall(section)}


def list_docstrings(public: Public) -> list[str | None]:
    """The docstring of a class or function, and those of the parents or methods that it extends."""
    if inspect.isclass(public.value):
        return [each.__doc__ for each in public.value.__mro__ if each.__module__.startswith("seq2see")]
    if public.owner is None:
        return [public.value.__doc__]
    method = public.name.rpartition(".")[2]
    return [getattr(vars(each).get(method), "__doc__", None) for each in public.owner.__mro__ if method in vars(each)]


def list_arguments(public: Public) -> set[str]:
    """The arguments of a function or a constructor; a class without a constructor of its own has none."""
    if inspect.isclass(public.value) and (
        not {"__init__", "__new__"} & set(vars(public.value))
        or issubclass(public.value, Enum | BaseModel)
        or getattr(public.value, "_is_protocol", False)  # nobody calls it, though Python gives it a constructor
    ):
        return set()
    return {name for name in inspect.signature(public.value).parameters if name not in {"self", "cls"}}


def list_told_elsewhere(public: Public) -> set[str]:
    """The private arguments, and those with a text of their own: options of commands and fields of requests."""
    helped = {
        name
        for name, hint in read_hints(public.value).items()
        for each in getattr(hint, "__metadata__", ())
        if (isinstance(each, ParameterInfo) and each.help) or (isinstance(each, FieldInfo) and each.description)
    }
    return helped | {name for name in list_arguments(public) if name.startswith("_")}


def read_hints(value: type | Callable[..., object]) -> dict[str, Any]:
    """The type hints; none where names are imported for type checkers alone, which no command and no request does."""
    try:
        return get_type_hints(value, include_extras=True)
    except NameError:
        return {}


@pytest.mark.parametrize("room", ROOMS)
def test_everything_public_explains_its_arguments(room: str) -> None:
    missing = []
    for public in list_public(room):
        docstrings = list_docstrings(public)
        unexplained = list_arguments(public) - list_told_elsewhere(public)
        unexplained -= set().union(*map(read_explained, docstrings))
        if not any(docstrings if public.owner else docstrings[:1]):  # only a method may leave it to what it overrides
            missing.append(f"{public.name} has no docstring")
        if unexplained:
            missing.append(f"{public.name} does not explain {', '.join(sorted(unexplained))}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("room", ROOMS)
def test_no_docstring_explains_an_argument_that_is_gone(room: str) -> None:
    stale = [
        f"{public.name} explains {', '.join(sorted(gone))}"
        for public in list_public(room)
        if (gone := read_explained(public.value.__doc__) - list_arguments(public))
    ]
    assert not stale, "\n".join(stale)


def test_arguments_are_read_from_a_docstring() -> None:
    docstring = """Add.

    Args:
        left: the first number, with a text
            of two lines: this is no argument.
        *others: more numbers.

    Returns:
        total: no argument.
    """
    assert read_explained(docstring) == {"left", "others"}
