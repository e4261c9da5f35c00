"""Settings: single keys of a configuration, as `train.updates=500` or as arguments of a Python call."""

import os
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from seq2see.config.notation import KeyPath, parse
from seq2see.config.schema import Config, Section
from seq2see.core.errors import ConfigError
from seq2see.core.registry import shorten

Tree = dict[str, Any]  # a configuration as YAML has it, before the schema has checked it
Layer = tuple[Tree, dict[KeyPath, str]]  # a tree, and where each of its keys was written
Setting = str | tuple[str, object]  # `train.updates=500` as it is typed, or ("train.updates", 500) in Python


def parse_setting(setting: Setting) -> Layer:
    """A setting as a tree; the value of one that is typed is YAML."""
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
    """Settings of a Python call, one for each key: those of a section may be given together, as a dictionary."""
    spread: list[Setting] = []
    for name, value in settings.items():
        if isinstance(value, Mapping) and name in list_sections(Config):
            spread += [(f"{name}.{key}", each) for key, each in value.items()]
        else:
            spread.append((name, value))
    return spread


def _nest(name: str, value: Any, place: str) -> Layer:
    """A value below its dotted name, and where it was written."""
    path = tuple(name.split("."))
    for word in reversed(path):
        value = {word: value}
    return value, {path: place}


def _to_yaml_types(value: Any) -> Any:
    """A Python value as YAML would have it: paths are texts, and tuples are lists."""
    if isinstance(value, Mapping):
        return {str(key): _to_yaml_types(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_yaml_types(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def require_space(name: str, place: str) -> None:
    """Refuse a colon that YAML takes for a part of a key."""
    if ":" in name:
        apart = name.replace(":", ": ", 1)
        raise ConfigError(f"{place}: a colon must have a space behind it; got {name!r}; write `{apart}`.")


def list_sections(section: type[BaseModel]) -> dict[str, type[Section]]:
    """The keys of a section that are sections themselves."""
    kinds = [
        (name, kind)
        for name, field in section.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))  # also one that may be left out
    ]
    return {name: kind for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)}
