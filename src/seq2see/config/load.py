"""Loading a configuration: preset, file and key=value, with errors that name file and line."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from seq2see.config.schema import Config, ParallelFiles
from seq2see.core.errors import ConfigError
from seq2see.core.registry import suggest

KeyPath = tuple[str, ...]
Layer = tuple[dict[str, Any], dict[KeyPath, str]]  # a tree, and where each of its keys was written


@dataclass(frozen=True)
class Loaded:
    """A checked configuration that remembers where each key was written."""

    config: Config
    places: Mapping[KeyPath, str]

    @contextmanager
    def naming_places(self) -> Iterator[None]:
        """Add file and line to errors about the keys of this configuration."""
        try:
            yield
        except ConfigError as error:
            if not error.path:
                raise
            raise ConfigError(f"{_place(error.path, self.places)}: {error}") from error


def load_config(
    *, file: Path | None = None, base: Mapping[str, Any] | None = None, settings: Sequence[str] = ()
) -> Loaded:
    """Lay preset, `base`, file and key=value settings over each other, and check the result."""
    layers: list[Layer] = [(dict(base or {}), {})]
    layers += [read_yaml(file)] if file is not None else []
    layers += [parse_setting(setting) for setting in settings]
    preset = next((tree["preset"] for tree, _ in reversed(layers) if tree.get("preset")), None)
    layers = [read_preset(preset), *layers] if preset is not None else layers
    tree: dict[str, Any] = {}
    places: dict[KeyPath, str] = {}
    for above, written in layers:
        tree = _lay(tree, above)
        places.update(written)
    if file is not None:
        _anchor(tree, file.parent)
    try:
        return Loaded(Config.model_validate(tree), places)
    except ValidationError as error:
        raise ConfigError(_explain(error, places)) from None


def read_yaml(file: Path) -> Layer:
    """The tree of a YAML file and the line of every key."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file; check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: the file cannot be read: {error}.") from None
    return parse_yaml(text, str(file))


def parse_yaml(text: str, name: str) -> Layer:
    """The tree of YAML text and the line of every key."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if getattr(error, "problem_mark", None) else ""  # type: ignore[attr-defined]
        raise ConfigError(f"{name}{line}: this is not YAML: {getattr(error, 'problem', error)}.") from None
    if not isinstance(tree, dict):
        raise ConfigError(f"{name}: a configuration is a list of `key: value` lines; got {type(tree).__name__}.")
    return tree, {path: f"{name}, line {line}" for path, line in _lines(node, ())}


def read_preset(name: str) -> Layer:
    """The tree of one of our presets."""
    known = preset_names()
    if name not in known:
        raise ConfigError(f"there is no preset {name!r}{suggest(str(name), known)} (known: {', '.join(known)}).")
    return parse_yaml(preset_text(name), f"preset {name}")


def preset_names() -> list[str]:
    """The presets we ship."""
    folder = resources.files("seq2see.presets")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def preset_text(name: str) -> str:
    """A preset as it is written, with the header that documents it."""
    return (resources.files("seq2see.presets") / f"{name}.yaml").read_text(encoding="utf-8")


def parse_setting(setting: str) -> Layer:
    """`train.updates=500` as a tree; the value is YAML."""
    key, equals, value = setting.partition("=")
    if not equals or not key:
        raise ConfigError(f"a setting is written key=value, such as train.updates=500; got {setting!r}.")
    try:
        tree: Any = yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigError(f"the value of {key} is not YAML; got {value!r}; put quotes around it.") from None
    path = tuple(key.split("."))
    for name in reversed(path):
        tree = {name: tree}
    return tree, {path: setting}


def _lay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """One configuration over another; joint tokens take the place of separate ones, and the reverse."""
    tokens = above.get("tokens")
    if isinstance(tokens, Mapping) and isinstance(below.get("tokens"), Mapping):
        gone = {"source", "target"} if tokens.get("joint") else {"joint"} if tokens else set()
        below = {**below, "tokens": {key: value for key, value in below["tokens"].items() if key not in gone}}
    merged: dict[str, Any] = _merge(below, above)
    return merged


def _merge(below: Any, above: Any) -> Any:
    """The upper tree over the lower; a part of another kind keeps nothing of the part it replaces."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind"):
        return dict(above)
    return {**below, **{key: _merge(below.get(key), value) for key, value in above.items()}}


def _place(path: KeyPath, places: Mapping[KeyPath, str]) -> str:
    """Where a key, or the nearest thing above it, was written."""
    for end in range(len(path), 0, -1):
        if path[:end] in places:
            return places[path[:end]]
    return next(iter(places.values()), "the configuration").partition(", line")[0]


def _anchor(tree: dict[str, Any], folder: Path) -> None:
    """Paths in a config file are relative to that file."""
    data = tree.get("data")
    if not isinstance(data, dict):
        return
    for split in ("train", "valid", "test"):
        value = data.get(split)
        if isinstance(value, str):
            data[split] = str((folder / value).absolute())
        elif isinstance(value, dict):
            data[split] = {side: str((folder / name).absolute()) for side, name in value.items()}


def _lines(node: yaml.Node | None, path: KeyPath) -> list[tuple[KeyPath, int]]:
    if not isinstance(node, yaml.MappingNode):
        return []
    found = []
    for key, value in node.value:
        below = (*path, str(key.value))
        found += [(below, key.start_mark.line + 1), *_lines(value, below)]
    return found


def _explain(error: ValidationError, places: Mapping[KeyPath, str]) -> str:
    first = error.errors()[0]
    # a union adds the names of its branches to the path; only keys that exist or are missing matter
    path = tuple(str(step) for step in first["loc"] if str(step) not in ("str", "ParallelFiles", "dict[str,any]"))
    place, name = _place(path, places), ".".join(path)
    if first["type"] == "extra_forbidden":
        known = _known(path[:-1])
        return f"{place}: there is no key {name!r}{suggest(path[-1], known)} (known: {', '.join(known)})."
    if first["type"] == "missing":
        return f"{place}: the key {name} is missing; add it."
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {name or 'it'}: {message[0].lower() + message[1:]}; got {_shorten(first['input'])}."


def _known(path: KeyPath) -> list[str]:
    """The keys that may stand at a path."""
    section: type[BaseModel] = Config
    for name in path:
        annotation = section.model_fields[name].annotation if name in section.model_fields else None
        section = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else ParallelFiles
    return list(section.model_fields)


def _shorten(value: Any) -> str:
    shown = repr(value.model_dump() if isinstance(value, BaseModel) else value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
