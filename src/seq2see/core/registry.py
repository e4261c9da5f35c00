"""The way from `{kind: name, ...}` in a configuration to an object.

A constructor's signature is the schema of its options. A parameter that carries the name of a group, and is a `Part`
or of no stated type, takes a part of that group. A parameter that nobody sets in a config is a size that follows from
the surroundings: `SIZES` lists those of each group, and a constructor names the ones it needs. Packages add parts
through the entry point `seq2see.<group>`; `my_file:MyScore` names a class of your own.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from seq2see.core.errors import ConfigError
from seq2see.core.part_sizes import SIZES
from seq2see.core.part_table import TABLE

T = TypeVar("T")
KeyPath = tuple[str, ...]

MAX_SUGGESTED = 100  # letters of a word that similar ones are looked for

_trusted: set[str] = set()  # modules of foreign code that the user allows to run

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Part(Generic[T]):
    """Holds the name of a class and its checked options; a call with the sizes of its surroundings builds the object.

    Args:
        group: the role of the object, such as score or encoder.
        kind: its name in the table of the group, or `my_file:MyScore`.
        options: the constructor's arguments that a configuration sets, by name.
        path: the keys of the configuration that lead to it, for error messages.
    """

    group: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    path: KeyPath = field(default=(), compare=False)

    def takes(self, name: str) -> bool:
        """Tell whether the constructor has a parameter of this name.

        Args:
            name: a size of the surroundings, such as query_size, or an option.
        """
        return name in _parameters(find(self.group, self.kind, path=self.path), self.path)

    def __call__(self, **given: object) -> T:
        """Build the object.

        Args:
            **given: what follows from the surroundings. Of the sizes of its group, the constructor gets those that it
                names; anything else must be one of its parameters.

        Raises:
            ConfigError: if the configuration sets one of them too, a required option is missing, or the constructor
                refuses the options.
        """
        factory = find(self.group, self.kind, path=self.path)
        parameters = _parameters(factory, self.path)
        self._check_given(given, parameters)
        arguments = {**{name: value for name, value in given.items() if name in parameters}, **self.options}
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise ConfigError(self._explain_missing(missing[0], given), path=self.path)
        try:
            built: T = factory(**arguments)
        except ConfigError as error:
            raise error if error.path else ConfigError(str(error), path=self.path) from error
        return built

    def _check_given(self, given: Mapping[str, object], parameters: Mapping[str, inspect.Parameter]) -> None:
        sizes = SIZES.get(self.group, frozenset())
        for name in given:
            if name in self.options:
                raise ConfigError(
                    f"{self.group} {self.kind}: {name} follows from the surroundings; remove it from the config.",
                    path=(*self.path, name),
                )
            if name not in parameters and name not in sizes:
                known = sorted({*parameters, *sizes})
                raise ConfigError(
                    f"{self.group} {self.kind} takes no {name!r}{suggest(name, known)} (known: "
                    f"{', '.join(known) or 'none'}).",
                    path=self.path,
                )

    def _explain_missing(self, name: str, given: Mapping[str, object]) -> str:
        owner = f"{self.group} {self.kind}"
        if given and name in SIZES.get(self.group, ()):
            return f"{owner} needs {name}, but is given {', '.join(given)}; choose one for such sources."
        return f"{owner} needs the option {name}; add it to the config."


def part(group: str, spec: object, *, path: KeyPath = (), beside: Callable[..., object] | None = None) -> Part[T]:
    """Check `name` or `{kind: name, option: value}` against the constructor it names.

    Args:
        group: the role of the object, such as score or encoder.
        spec: what a configuration says, or a part, which is returned as it is.
        path: the keys of the configuration that lead to it, for error messages.
        beside: a further class whose options are permitted too, and which the caller removes from the result; None if
            there is none.

    Raises:
        ConfigError: if there is no class of that name, or an option does not fit its signature.
    """
    if isinstance(spec, Part):
        return spec
    options = {"kind": spec} if isinstance(spec, str) else spec
    if not isinstance(options, Mapping) or not isinstance(options.get("kind"), str):
        raise ConfigError(f"{group} must be a name or {{kind: name, ...}}; got {shorten(spec)}.", path=path)
    kind = str(options["kind"])
    parameters = _parameters(find(group, kind, path=(*path, "kind")), path)
    parameters |= {} if beside is None else _parameters(beside, path)
    checked = {
        str(name): _check(str(name), value, parameters, f"{group} {kind}", (*path, str(name)))
        for name, value in options.items()
        if name != "kind"
    }
    return Part(group, kind, checked, path)


def is_foreign(kind: str) -> bool:
    """Tell whether a name is that of code outside the table and the entry points: `my_file:MyScore`.

    Args:
        kind: what a configuration names; such code has a colon in its name.
    """
    return ":" in kind


def trust_modules(modules: Iterable[str]) -> None:
    """Allow code of the user's own to be imported by `find`, for the rest of the process.

    Args:
        modules: names of modules, such as my_file.
    """
    _trusted.update(modules)


def trust_named(spec: object) -> None:
    """Allow the code that callers name in an argument of their own.

    Args:
        spec: a name, `{kind: name, option: value}`, or anything else, which allows nothing.
    """
    if isinstance(spec, str) and is_foreign(spec):
        trust_modules([spec.partition(":")[0]])
    for inner in spec.values() if isinstance(spec, Mapping) else spec if isinstance(spec, list | tuple) else ():
        trust_named(inner)


def is_trusted(kind: str) -> bool:
    """Tell whether the code that a name leads to may run: ours, that of installed packages, and what the user allows.

    Args:
        kind: `my_file:MyScore`; only the module before the colon counts.
    """
    return not is_foreign(kind) or kind.partition(":")[0] in _trusted


def names(group: str) -> list[str]:
    """Return all names of a group: ours, and those of installed packages.

    Args:
        group: a key of the table, such as score.
    """
    return [*TABLE[group], *(entry.name for entry in entry_points(group=f"seq2see.{group}"))]


def find(group: str, kind: str, *, path: KeyPath = ()) -> Any:
    """Import and return the class or function that has a name.

    Args:
        group: a key of the table, such as score.
        kind: a name of the group, or `my_file:MyScore`.
        path: the keys of the configuration that lead to the name, for error messages.

    Raises:
        ConfigError: if there is none, it is code that the user has not allowed, or its code cannot be imported.
    """
    if kind in TABLE[group]:
        return _import(TABLE[group][kind])
    for entry in entry_points(group=f"seq2see.{group}", name=kind):
        return _load(entry.load, f"{group} {shorten(kind)} of an installed package must be a class", path)
    if not is_trusted(kind):
        raise ConfigError(f"{shorten(kind)} is code of its own; read it first, then allow it with --trust.", path=path)
    if is_foreign(kind):
        rule = f"{shorten(kind)} must name a class as file:Class, and file.py be beside the config, the data or here"
        return _load(lambda: _import(kind), rule, path)
    named = f"{shorten(kind)}{suggest(kind, names(group))}"
    raise ConfigError(f"there is no {group} named {named} (known: {', '.join(names(group))}).", path=path)


def suggest(word: str, known: Sequence[str]) -> str:
    """Return a "did you mean" for a mistyped word, which continues a message; empty if no known word is similar.

    Args:
        word: what the user wrote.
        known: the words that are right.
    """
    close = get_close_matches(word[:MAX_SUGGESTED], known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def complain(name: str, problem: ErrorDetails) -> str:
    """Return what pydantic found wrong with a value, as a sentence of ours.

    Args:
        name: the key with the wrong value; empty for a rule about several keys.
        problem: an entry of pydantic's `ValidationError.errors()`.
    """
    message = re.sub(r"^\w+ should", "must", problem["msg"].removeprefix("Value error, "))
    expected = re.findall("'([^']*)'", problem["ctx"]["expected"]) if problem["type"] == "literal_error" else []
    hint = suggest(problem["input"], expected) if isinstance(problem["input"], str) else ""
    if not name:  # a rule about several keys; the whole configuration would tell nobody anything
        return f"it {message}."
    return f"{name} {message[0].lower() + message[1:]}; got {shorten(problem['input'])}{hint or '.'}"


def shorten(value: object, *, most: int = 80) -> str:
    """Return the `repr` of a value for a message, cut; control characters are escaped in it.

    Args:
        value: what the user gave.
        most: the largest number of characters to return.
    """
    try:
        shown = repr(value[: most + 1] if isinstance(value, str) else value)  # a text may have millions of letters
    except ValueError:  # Python writes out no integers of more than 4,300 digits
        shown = "a number of too many digits"
    return shown if len(shown) <= most else f"{shown[: most - 4]}...{shown[-1]}"


def _import(place: str) -> Any:
    return getattr(importlib.import_module(place.partition(":")[0]), place.partition(":")[2])


def _load(load: Callable[[], object], rule: str, path: KeyPath) -> Any:
    try:
        found = load()
    except Exception as error:  # whatever the first run of somebody's file can raise
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ConfigError(f"{rule}; got {detail}.", path=path) from error
    if not callable(found):
        raise ConfigError(f"{rule}; got {shorten(found)}.", path=path)
    return found


def _parameters(factory: Callable[..., object], path: KeyPath) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(factory, eval_str=True).parameters
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(
            f"the options of {factory!r} cannot be read from its signature; {error}.", path=path
        ) from error
    return {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _check(name: str, value: object, parameters: dict[str, inspect.Parameter], owner: str, path: KeyPath) -> object:
    if name not in parameters:
        known = ", ".join(parameters) or "none"
        raise ConfigError(
            f"{owner} has no option {shorten(name)}{suggest(name, list(parameters))} (known: {known}).", path=path
        )
    annotation = parameters[name].annotation
    if value is None and type(None) in get_args(annotation):
        return None  # an optional part that a preset has, left out
    if name in TABLE and (annotation is inspect.Parameter.empty or holds_part(annotation)):
        nested: Part[object] = part(name, value, path=path)
        return nested
    if annotation is inspect.Parameter.empty:
        return value
    try:
        # as JSON, because a config has lists where Python has tuples
        adapter: TypeAdapter[object] = TypeAdapter(annotation, config=_STRICT)
        return adapter.validate_json(to_json(value))
    except ValidationError as error:
        raise ConfigError(complain(".".join(path), error.errors()[0]), path=path) from error


def holds_part(annotation: object) -> bool:
    """Tell whether a parameter is a part, or may be one: `Part[Score]`, `Part[Window] | None`.

    Args:
        annotation: the type of the parameter, as an object.
    """
    return any(each is Part or get_origin(each) is Part for each in (annotation, *get_args(annotation)))
