"""Loading a configuration from a preset, a file and key=value settings, with errors that name file and line."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ValidationError

from seq2see.config.notation import MAX_CHARACTERS, KeyPath, parse
from seq2see.config.schema import BRANCHES, Config, ParallelFiles
from seq2see.config.settings import Layer, Setting, Tree, list_sections, parse_setting, require_space
from seq2see.config.synonyms import suggest_setting
from seq2see.core.errors import ConfigError
from seq2see.core.registry import complain, shorten, suggest

PathKeys = Mapping[str, "PathKeys"] | tuple[str, ...]

# the keys whose values are paths, each with the words that are no path there
PATH_KEYS: PathKeys = {
    "data": {"train": (), "valid": (), "test": ()},
    "init": {"run": (), "encoder": (), "decoder": (), "embeddings": ("train",)},
    "train": {"distillation": {"teachers": ()}},
}


@dataclass(frozen=True)
class Loaded:
    """A checked configuration, and where each key was written.

    Args:
        config: the configuration.
        places: for each key, its file and line or its setting; for () the configuration as a whole.
    """

    config: Config
    places: Mapping[KeyPath, str]

    @contextmanager
    def naming_places(self) -> Iterator[None]:
        """Add file and line to errors about the keys of this configuration, for the code inside a `with`.

        Raises:
            ConfigError: the error of the code inside, with the place of its key if it names one.
        """
        try:
            yield
        except ConfigError as error:
            if not error.path:
                raise
            raise ConfigError(f"{_place(error.path, self.places)}: {error}") from error


def load_config(
    *, file: Path | None = None, base: Mapping[str, object] | None = None, settings: Sequence[Setting] = ()
) -> Loaded:
    """Merge preset, `base`, file and settings, the later ones over the earlier, and check the result.

    Paths are relative to the file that names them, elsewhere to the current folder.

    Args:
        file: a YAML file; None for a configuration of preset and settings alone.
        base: the tree of a configuration that the file and the settings change.
        settings: `key=value` texts, such as train.updates=500, or pairs of a dotted key and a value.

    Raises:
        ConfigError: a key is missing, unknown or has a wrong value, or the file cannot be read.
    """
    layers = [_anchor((dict(base or {}), {}), Path.cwd())]
    layers += [_anchor(read_yaml(file), file.parent)] if file is not None else []
    layers += [_anchor(parse_setting(setting), Path.cwd()) for setting in settings]
    tree: Tree = {}
    places: dict[KeyPath, str] = {(): "the configuration" if file is None else str(file)}
    for above, written in [*_find_preset(layers), *layers]:
        _require_sections(above, {**places, **written})
        tree = _merge_trees(tree, above)
        places = _merge_places(places, above, written)
    try:
        return Loaded(Config.model_validate(tree), places)
    except ValidationError as error:
        raise ConfigError(_explain(error, places)) from None


def read_yaml(file: Path) -> Layer:
    """Return the tree of a YAML file, and the place of every key.

    Args:
        file: a UTF-8 file.

    Raises:
        ConfigError: the file cannot be read, or is no YAML.
    """
    try:
        with file.open("rb") as opened:  # no more than what `parse` refuses
            text = opened.read(4 * MAX_CHARACTERS + 4).decode("utf-8-sig")
    except FileNotFoundError:
        what = "this is a link to a file that is not there" if file.is_symlink() else "there is no such file"
        raise ConfigError(f"{file}: {what}; check the path.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}, line {line}: text must be UTF-8; save the file as UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{file}: the file cannot be read: {reason}; check the path and the permissions.") from None
    return parse_yaml(text, str(file))


def parse_yaml(text: str, name: str) -> Layer:
    """Return the tree of YAML text, and the place of every key.

    Args:
        text: the content of a configuration file.
        name: the name of the text in errors, such as its path.
    """
    tree, lines = parse(text, name)
    for path, line in lines.items():
        require_space(path[-1], f"{name}, line {line}")
    if not isinstance(tree, dict):
        got = "nothing" if tree is None else shorten(tree)
        raise ConfigError(f"{name}: a configuration must be a list of `key: value` lines; got {got}.")
    return tree, {path: f"{name}, line {line}" for path, line in lines.items()}


def read_preset(name: str) -> Layer:
    """Return the tree of a preset, and the place of every key.

    Args:
        name: the name of the preset, without `.yaml`.

    Raises:
        ConfigError: there is no such preset.
    """
    known = preset_names()
    if name not in known:
        raise ConfigError(f"there is no preset {shorten(name)}{suggest(str(name), known)} (known: {', '.join(known)}).")
    return parse_yaml(preset_text(name), f"preset {name}")


def preset_names(*, task: str | None = None, images: bool | None = None) -> list[str]:
    """Return the names of the presets.

    Args:
        task: only those of this task.
        images: True for only those that read images, False for only the others.
    """
    folder = resources.files("seq2see.presets")
    names = sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    if task is None and images is None:
        return names
    trees = {name: parse_yaml(preset_text(name), name)[0] for name in names}
    chosen = [name for name in names if task is None or trees[name].get("task", "transduction") == task]
    return [name for name in chosen if images is None or _reads_images(trees[name]) == images]


def _reads_images(tree: Tree) -> bool:
    tokens = tree["tokens"]
    source = tokens.get("source") if isinstance(tokens, Mapping) else None
    return isinstance(source, Mapping) and source["kind"] == "images"


def preset_text(name: str) -> str:
    """Return a preset as it is written, with the header that documents it.

    Args:
        name: the name of a preset, which must exist.
    """
    return (resources.files("seq2see.presets") / f"{name}.yaml").read_text(encoding="utf-8")


def _require_sections(tree: Tree, places: Mapping[KeyPath, str]) -> None:
    """Refuse another value where a section belongs, before the keys of a later layer replace it."""
    for name in list_sections(Config):
        if not isinstance(tree.get(name, {}), Mapping | None):
            raise ConfigError(_describe_section((name,), places, tree[name]))


def _describe_section(path: KeyPath, places: Mapping[KeyPath, str], got: object) -> str:
    known = ", ".join(_known(path))
    return f"{_place(path, places)}: {'.'.join(path)} must be a section of keys ({known}); got {shorten(got)}."


def _find_preset(layers: Sequence[Layer]) -> list[Layer]:
    """Return the preset that the last layer with one names, as a layer below all others."""
    for tree, written in reversed(layers):
        if _is_complete(tree, Config):
            return []  # a later change of the preset must not change a run whose configuration is complete
        if tree.get("preset"):
            try:
                return [read_preset(str(tree["preset"]))]
            except ConfigError as error:
                raise ConfigError(f"{written.get(('preset',), 'the configuration')}: {error}") from None
    return []


def _is_complete(tree: object, section: type[BaseModel]) -> bool:
    """Tell whether every key that has a value is there, as in a configuration that `write_config` wrote."""
    if not isinstance(tree, Mapping):
        return False
    valued = [name for name, field in section.model_fields.items() if field.default is not None]
    inner = list_sections(section)
    return all(name in tree and (name not in inner or _is_complete(tree[name], inner[name])) for name in valued)


def _anchor(layer: Layer, folder: Path) -> Layer:
    """Make paths of data and of other runs absolute."""
    tree, written = layer
    return _absolute_section(tree, PATH_KEYS, folder), written


def _absolute_section(section: Mapping[str, object], known: PathKeys, folder: Path) -> Tree:
    """Make the paths of a section absolute: all values of a path key, and of nothing else."""
    deeper = {key: known.get(key) if isinstance(known, Mapping) else known for key in section}
    return {key: _absolute(value, deeper[key], folder) for key, value in section.items()}


def _absolute(value: object, known: PathKeys | None, folder: Path) -> object:
    """Make the paths in a value absolute; `known` is what `PATH_KEYS` has for its key."""
    if known is None:
        return value
    if isinstance(value, Mapping):
        return _absolute_section(value, known, folder)
    if isinstance(known, Mapping) or value in known:
        return value
    if isinstance(value, list):
        return [_absolute(each, known, folder) for each in value]
    return str((folder / os.path.expanduser(value)).absolute()) if isinstance(value, str) else value


def _merge_trees(below: Tree, above: Tree) -> Tree:
    """Merge one configuration over another; joint tokens replace separate ones, and the reverse."""
    tokens, tokens_below = above.get("tokens"), below.get("tokens")
    if isinstance(tokens, Mapping) and isinstance(tokens_below, Mapping):
        gone = {"source", "target"} if tokens.get("joint") else {"joint"} if tokens else set()
        below = {**below, "tokens": {key: value for key, value in tokens_below.items() if key not in gone}}
    # a section whose keys are all commented out is None in YAML, and changes nothing
    given = {key: value for key, value in above.items() if value is not None or key not in list_sections(Config)}
    return {**below, **{key: _merge(below.get(key), value, parts=key != "data") for key, value in given.items()}}


def _merge(below: object, above: object, *, parts: bool) -> object:
    """Merge one value over another; a part of another kind keeps no option of the part it replaces."""
    if parts and isinstance(below, str) and isinstance(above, Mapping):
        below = {"kind": below}  # options for a part that was only named so far
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind"):
        return dict(above)
    return {**below, **{key: _merge(below.get(key), value, parts=parts) for key, value in above.items()}}


def _merge_places(below: dict[KeyPath, str], tree: Tree, above: dict[KeyPath, str]) -> dict[KeyPath, str]:
    """Return where keys were written last; a value that is no section replaces all keys below its key."""
    replaced = list(_find_values(tree))
    kept = {path: place for path, place in below.items() if not any(path[: len(r)] == r for r in replaced)}
    return {**kept, **above}


def _find_values(tree: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """List the paths of all values that are no section."""
    if not isinstance(tree, Mapping):
        yield path
        return
    for name, value in tree.items():
        yield from _find_values(value, (*path, str(name)))


def _place(path: KeyPath, places: Mapping[KeyPath, str]) -> str:
    """Return where a key, a key below it, or else the nearest key above it was written."""
    inside = [place for known, place in places.items() if known[: len(path)] == path]
    if path in places or inside:
        return places.get(path) or inside[-1]
    return _place(path[:-1], places)


def _explain(error: ValidationError, places: Mapping[KeyPath, str]) -> str:
    """Return pydantic's first error as one sentence with file and line."""
    # a mistyped key is also a missing one: name the former
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    path = tuple(str(step) for step in first["loc"] if step not in BRANCHES)
    place, name = _place(path, places), ".".join(path)
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no key {shorten(name)}{suggest_setting(path, _known(path[:-1]))}"
    if first["type"] == "missing":
        hint = f", or name a preset ({', '.join(preset_names())})" if name in ("tokens", "model") else ""
        return f"{place}: the key {name} is missing; add it{hint}."
    if first["type"] == "invalid_key":
        return f"{place}: a key must be a word; got {shorten(first['input'])}."
    if first["type"] == "model_type":
        return _describe_section(path, places, first["input"])
    return f"{place}: {complain(name, first)}"


def _known(path: KeyPath) -> list[str]:
    """Return the keys that a section may have."""
    section: type[BaseModel] = Config
    for name in path:
        section = list_sections(section).get(name, ParallelFiles)
    return list(section.model_fields)
