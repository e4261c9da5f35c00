"""What can be said of a part without building it: its summary, and each option with type, default and meaning."""

import inspect
import re
from dataclasses import dataclass
from typing import Annotated, Literal, get_args, get_origin

from pydantic_core import to_json

from seq2see.core.part_sizes import SIZES
from seq2see.core.part_table import TABLE
from seq2see.core.registry import Part, find, holds_part


@dataclass(frozen=True)
class OptionDocs:
    """One option of a part.

    Args:
        name: the key in a configuration.
        type: what values it takes, as people write them.
        default: the value when a configuration says nothing; None if the option is required.
        meaning: the sentence of the docstring, empty if there is none.
    """

    name: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True)
class PartDocs:
    """A part by its group and name.

    Args:
        group: the role of the part, such as score or encoder.
        kind: its name in a configuration.
        summary: the first sentence of its docstring.
        options: what a configuration may say of it; sizes that follow from the surroundings are not among them.
    """

    group: str
    kind: str
    summary: str
    options: tuple[OptionDocs, ...]


def describe_part(group: str, kind: str) -> PartDocs:
    """Read the summary and the options of a part from its class.

    Args:
        group: the role of the part.
        kind: its name, or `my_file:MyScore` for a class of one's own.
    """
    factory = find(group, kind)
    text = inspect.getdoc(factory) or ""
    meanings = _read_meanings(factory)
    surroundings = SIZES.get(group, frozenset())
    options = tuple(
        OptionDocs(name, _name_type(name, each.annotation), _show_default(each.default), meanings.get(name, ""))
        for name, each in inspect.signature(factory, eval_str=True).parameters.items()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and not _is_given(name, each, surroundings)
    )
    return PartDocs(group, kind, " ".join(text.split("\n\n")[0].split()), options)


def _is_given(name: str, parameter: inspect.Parameter, surroundings: frozenset[str]) -> bool:
    """Tell whether the surroundings set a parameter: a size of the group that has no default of its own."""
    return name in surroundings and parameter.default is parameter.empty


def _read_meanings(factory: object) -> dict[str, str]:
    """Return what the docstrings say of the arguments: that of the class, and its bases' of all other arguments."""
    meanings: dict[str, str] = {}
    for base in reversed(inspect.getmro(factory) if isinstance(factory, type) else (factory,)):
        meanings |= _read_arguments(inspect.getdoc(base) or "")
    return meanings


def _read_arguments(text: str) -> dict[str, str]:
    """Return the sentences below `Args:`, by name; a line that is indented further continues the one before."""
    _, _, section = text.partition("Args:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section.split("\n\n")[0], re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def _name_type(name: str, annotation: object) -> str:
    if name in TABLE and (annotation is inspect.Parameter.empty or holds_part(annotation)):
        return f"see `seq2see parts {name}`"
    if annotation is inspect.Parameter.empty:
        return "any"
    if get_origin(annotation) is Annotated:
        base, *bounds = get_args(annotation)
        limits = [limit for bound in bounds if (limit := _name_bound(bound))]
        return " ".join([_name_type("", base), *limits])
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, get_args(annotation)))
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    members = [_name_type("", each) for each in get_args(annotation) if each not in (type(None), ...)]
    return f"[{', '.join(members)}, ...]" if get_origin(annotation) in (list, tuple) else " | ".join(members)


def _name_bound(bound: object) -> str:
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    return " ".join(f"{sign} {getattr(bound, key)}" for key, sign in signs.items() if hasattr(bound, key))


def _show_default(default: object) -> str | None:
    if default is inspect.Parameter.empty:
        return None
    if isinstance(default, Part):
        return default.kind
    return str(to_json(default), "utf-8").strip('"')
