"""Loading a configuration: preset, file and key=value, with errors that name file and line."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from seq2see.config.notation import KeyPath, parse
from seq2see.config.schema import BRANCHES, Config, ParallelFiles, Section
from seq2see.core.errors import ConfigError
from seq2see.core.registry import complain, shorten, suggest

PATHS: dict[str, Any] = {  # where paths stand, each with the words there that are none
    "data": {"train": (), "valid": (), "test": ()},
    "init": {"encoder": (), "decoder": (), "embeddings": ("train",)},
    "train": {"teacher": {"runs": ()}},
}
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
    """Lay preset, `base`, file and key=value settings over each other, and check the result.

    Paths are relative to the file that names them, elsewhere to the folder one is in.
    """
    layers = [_anchor((dict(base or {}), {}), Path.cwd())]
    layers += [_anchor(read_yaml(file), file.parent)] if file is not None else []
    layers += [_anchor(parse_setting(setting), Path.cwd()) for setting in settings]
    tree: dict[str, Any] = {}
    places: dict[KeyPath, str] = {(): "the configuration" if file is None else str(file)}
    for above, written in [*_find_preset(layers), *layers]:
        _need_sections(above, {**places, **written})
        tree = _lay(tree, above)
        places = _lay_places(places, above, written)
    try:
        return Loaded(Config.model_validate(tree), places)
    except ValidationError as error:
        raise ConfigError(_explain(error, places)) from None


def read_yaml(file: Path) -> Layer:
    """The tree of a YAML file and the line of every key."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file; check the path.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}, line {line}: text must be UTF-8; save the file as UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{file}: the file cannot be read: {reason}; check the path and the permissions.") from None
    return parse_yaml(text, str(file))


def parse_yaml(text: str, name: str) -> Layer:
    """The tree of YAML text and the line of every key."""
    tree, lines = parse(text, name)
    for path, line in lines.items():
        _need_blank(path[-1], f"{name}, line {line}")
    if not isinstance(tree, dict):
        got = "nothing" if tree is None else shorten(tree)
        raise ConfigError(f"{name}: a configuration must be a list of `key: value` lines; got {got}.")
    return tree, {path: f"{name}, line {line}" for path, line in lines.items()}


def read_preset(name: str) -> Layer:
    """The tree of one of our presets."""
    known = preset_names()
    if name not in known:
        raise ConfigError(f"there is no preset {name!r}{suggest(str(name), known)} (known: {', '.join(known)}).")
    return parse_yaml(preset_text(name), f"preset {name}")


def preset_names(*, task: str | None = None, pictures: bool | None = None) -> list[str]:
    """The presets we ship, all or those of one task; only those that read pictures, or only others."""
    folder = resources.files("seq2see.presets")
    names = sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    if task is None and pictures is None:
        return names
    trees = {name: parse_yaml(preset_text(name), name)[0] for name in names}
    chosen = [name for name in names if task is None or trees[name].get("task", "transduction") == task]
    return [name for name in chosen if pictures is None or _reads_pictures(trees[name]) == pictures]


def _reads_pictures(tree: Mapping[str, Any]) -> bool:
    source = tree["tokens"].get("source")
    return isinstance(source, Mapping) and source["kind"] == "pictures"


def preset_text(name: str) -> str:
    """A preset as it is written, with the header that documents it."""
    return (resources.files("seq2see.presets") / f"{name}.yaml").read_text(encoding="utf-8")


def parse_setting(setting: str) -> Layer:
    """`train.updates=500` as a tree; the value is YAML."""
    key, equals, value = setting.partition("=")
    path = tuple(name.strip() for name in key.split("."))
    if not equals or not all(path):
        raise ConfigError(f"a setting must be written key=value, such as train.updates=500; got {shorten(setting)}.")
    try:
        tree, lines = parse(value, key)
    except ConfigError:
        raise ConfigError(f"the value of {'.'.join(path)} must be YAML; got {shorten(value)}; quote it.") from None
    for below in lines:
        _need_blank(below[-1], shorten(setting)[1:-1])
    for name in reversed(path):
        tree = {name: tree}
    return tree, {path: shorten(setting)[1:-1]}


def _need_blank(name: str, place: str) -> None:
    """Refuse a colon that YAML takes for a part of a key."""
    if ":" in name:
        apart = name.replace(":", ": ", 1)
        raise ConfigError(f"{place}: a colon must have a blank behind it; got {name!r}; write `{apart}`.")


def _need_sections(tree: Mapping[str, Any], places: Mapping[KeyPath, str]) -> None:
    """Refuse another value where a section belongs, before the keys of a later layer take its place."""
    for name in _sections(Config):
        if not isinstance(tree.get(name, {}), Mapping | None):
            raise ConfigError(_need_section((name,), places, tree[name]))


def _need_section(path: KeyPath, places: Mapping[KeyPath, str], got: Any) -> str:
    known = ", ".join(_known(path))
    return f"{_place(path, places)}: {'.'.join(path)} must be a section of keys ({known}); got {shorten(got)}."


def _find_preset(layers: Sequence[Layer]) -> list[Layer]:
    """The preset that is asked for last, as a layer below all others."""
    for tree, written in reversed(layers):
        if _is_complete(tree, Config):
            return []  # a preset that is edited later must not change a run that was written down
        if tree.get("preset"):
            try:
                return [read_preset(str(tree["preset"]))]
            except ConfigError as error:
                raise ConfigError(f"{written.get(('preset',), 'the configuration')}: {error}") from None
    return []


def _is_complete(tree: Any, section: type[BaseModel]) -> bool:
    """Whether every key that has a value is there, as in a configuration that `write_config` wrote."""
    if not isinstance(tree, Mapping):
        return False
    valued = [name for name, field in section.model_fields.items() if field.default is not None]
    inner = _sections(section)
    return all(name in tree and (name not in inner or _is_complete(tree[name], inner[name])) for name in valued)


def _sections(section: type[BaseModel]) -> dict[str, type[Section]]:
    """The keys of a section that are sections themselves."""
    kinds = [
        (name, kind)
        for name, field in section.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))  # also one that may be left out
    ]
    return {name: kind for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)}


def _anchor(layer: Layer, folder: Path) -> Layer:
    """Paths of data and of other runs become absolute."""
    tree, written = layer
    return _absolute(tree, PATHS, folder), written


def _absolute(value: Any, known: Any, folder: Path) -> Any:
    """The same with absolute paths: everything below where one stands, but for the words that are none."""
    if isinstance(value, Mapping):
        deeper = {key: known.get(key) if isinstance(known, Mapping) else known for key in value}
        return {
            key: each if deeper[key] is None else _absolute(each, deeper[key], folder) for key, each in value.items()
        }
    if isinstance(known, Mapping) or value in known:
        return value
    if isinstance(value, list):
        return [_absolute(each, known, folder) for each in value]
    return str((folder / os.path.expanduser(value)).absolute()) if isinstance(value, str) else value


def _lay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """One configuration over another; joint tokens take the place of separate ones, and the reverse."""
    tokens = above.get("tokens")
    if isinstance(tokens, Mapping) and isinstance(below.get("tokens"), Mapping):
        gone = {"source", "target"} if tokens.get("joint") else {"joint"} if tokens else set()
        below = {**below, "tokens": {key: value for key, value in below["tokens"].items() if key not in gone}}
    # a section whose keys are all commented out says nothing
    said = {key: value for key, value in above.items() if value is not None or key not in _sections(Config)}
    return {**below, **{key: _merge(below.get(key), value, parts=key != "data") for key, value in said.items()}}


def _merge(below: Any, above: Any, *, parts: bool) -> Any:
    """The upper tree over the lower; a part of another kind keeps nothing of the part it replaces."""
    if parts and isinstance(below, str) and isinstance(above, Mapping):
        below = {"kind": below}  # options for a part that has only been named
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind"):
        return dict(above)
    return {**below, **{key: _merge(below.get(key), value, parts=parts) for key, value in above.items()}}


def _lay_places(below: dict[KeyPath, str], tree: Any, above: dict[KeyPath, str]) -> dict[KeyPath, str]:
    """Where keys were written last; a value that is no section takes the place of all that stood below its key."""
    replaced = list(_find_values(tree))
    kept = {path: place for path, place in below.items() if not any(path[: len(r)] == r for r in replaced)}
    return {**kept, **above}


def _find_values(tree: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of all that is no section."""
    if not isinstance(tree, Mapping):
        yield path
        return
    for name, value in tree.items():
        yield from _find_values(value, (*path, str(name)))


def _place(path: KeyPath, places: Mapping[KeyPath, str]) -> str:
    """Where a key, something in it, or the nearest thing above it was written."""
    inside = [place for known, place in places.items() if known[: len(path)] == path]
    if path in places or inside:
        return places.get(path) or inside[-1]
    return _place(path[:-1], places)


def _explain(error: ValidationError, places: Mapping[KeyPath, str]) -> str:
    # a mistyped key is also a missing one: name the former
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    path = tuple(str(step) for step in first["loc"] if step not in BRANCHES)
    place, name = _place(path, places), ".".join(path)
    if first["type"] == "extra_forbidden":
        known = _known(path[:-1])
        return f"{place}: there is no key {name!r}{suggest(path[-1], known)} (known: {', '.join(known)})."
    if first["type"] == "missing":
        hint = f", or name a preset ({', '.join(preset_names())})" if name in ("tokens", "model") else ""
        return f"{place}: the key {name} is missing; add it{hint}."
    if first["type"] == "invalid_key":
        return f"{place}: a key must be a word; got {first['input']!r}."
    if first["type"] == "model_type":
        return _need_section(path, places, first["input"])
    return f"{place}: {complain(name, first)}"


def _known(path: KeyPath) -> list[str]:
    """The keys that may stand at a path."""
    section: type[BaseModel] = Config
    for name in path:
        section = _sections(section).get(name, ParallelFiles)
    return list(section.model_fields)
