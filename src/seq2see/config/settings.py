"""Settings: single keys of a configuration, as `train.updates=500` or as arguments of a Python call."""

import os
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from seq2see.config.notation import KeyPath, parse
from seq2see.config.schema import Config
from seq2see.config.section import Section
from seq2see.core.errors import ConfigError
from seq2see.core.registry import shorten

Tree = dict[str, Any]  # a configuration as YAML has it, before the schema has checked it
Layer = tuple[Tree, dict[KeyPath, str]]  # a tree, and where each of its keys was written
Setting = str | tuple[str, object]  # the text `train.updates=500`, or ("train.updates", 500) in Python


def parse_setting(setting: Setting) -> Layer:
    """Return a setting as a tree, and where it was written.

    Args:
        setting: a text `key=value` whose value is YAML, or a pair of a dotted key and a Python value.

    Raises:
        ConfigError: the text has no key, no equals sign or no YAML as value.
    """
    if not isinstance(setting, str):
        return _nest(setting[0], _to_yaml_types(setting[1]), f"{setting[0]}={shorten(setting[1])}")
    key, equals, value = setting.partition("=")
    name = ".".join(word.strip() for word in key.split("."))
    if not equals or not all(name.split(".")):
        raise ConfigError(f"a setting must be written key=value, such as train.updates=500; got {shorten(setting)}.")
    try:
        tree, lines = parse(value, key)
    except ConfigError:
        raise ConfigError(f"the value of {name} must be YAML; got {shorten(value)}; quote it.") from None
    for below in lines:
        require_space(below[-1], shorten(setting)[1:-1])
    return _nest(name, tree, shorten(setting)[1:-1])


def spread_settings(settings: Mapping[str, object]) -> list[Setting]:
    """Return the settings of a Python call, one for each key.

    Args:
        settings: values by dotted key; the keys of a section may be given together, as a dictionary.
    """
    spread: list[Setting] = []
    for name, value in settings.items():
        if isinstance(value, Mapping) and name in list_sections(Config):
            spread += [(f"{name}.{key}", each) for key, each in value.items()]
        else:
            spread.append((name, value))
    return spread


def _nest(name: str, value: Any, place: str) -> Layer:
    """Return a value below its dotted name, and where it was written."""
    path = tuple(name.split("."))
    for word in reversed(path):
        value = {word: value}
    return value, {path: place}


def _to_yaml_types(value: Any) -> Any:
    """Return a Python value as YAML would have it: paths are texts, and tuples are lists."""
    if isinstance(value, Mapping):
        return {str(key): _to_yaml_types(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_yaml_types(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def require_space(name: str, place: str) -> None:
    """Refuse a colon that YAML takes for a part of a key.

    Args:
        name: a key as YAML reads it.
        place: where it was written, for the error.

    Raises:
        ConfigError: the key has a colon.
    """
    if ":" in name:
        apart = name.replace(":", ": ", 1)
        raise ConfigError(
            f"{place}: a colon must have a space behind it; got {shorten(name)}; write `{shorten(apart)[1:-1]}`."
        )


def list_sections(section: type[BaseModel]) -> dict[str, type[Section]]:
    """Return the keys of a section that are sections themselves, with their classes.

    Args:
        section: the class of a section.
    """
    kinds = [
        (name, kind)
        for name, field in section.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))  # also one that may be left out
    ]
    return {name: kind for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)}
