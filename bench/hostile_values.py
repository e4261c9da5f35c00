"""Every leaf of configurations, facts, checkpoints and tokenizers of honest runs with values that it must not have.

They are found in honest runs, so that a new key is tried as soon as there is one.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from hostile_cases import Case
from hostile_folders import CHECKPOINT, Folder

from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    [[]],
    0,
    -7,
    10**6,
    10**12,
    10**30,
    0.5,
    float("nan"),
    float("inf"),
    1e308,
    True,
    "",
    "1e400",
    "x" * 50_000,
    "\u202e\x1b[2J\x07\x9b2J\u2066",
    {"kind": "\x1b[2J"},
    ["a"] * 3_000,
)
JSON_VALUES = (*VALUES, "\ud800", -(10**400), 2**53, 1e-300)


def list_paths(tree: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """All places of a tree, sections and leaves; of a list the first entries."""
    if path:
        yield path
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from list_paths(value, (*path, key))
    if isinstance(tree, list):
        for number, value in enumerate(tree[:2]):
            yield from list_paths(value, (*path, number))


def put_at(tree: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Set the value of a place."""
    *above, last = path
    for key in above:
        tree = tree[key]
    tree[last] = value


def name_value(value: object) -> str:
    """A value in the name of a case."""
    return ascii(value)[:24]


def list_value_cases(bases: Mapping[str, Path]) -> Iterator[Case]:
    """Every leaf of every honest run with every value.

    Of a further base, the sections alone that no base before it has had are tried.
    """
    seen: set[str] = set()
    for base, folder in bases.items():
        config = yaml.safe_load((folder / "config.yaml").read_text())
        for path in list_paths(config):
            if path not in [("model",), ("tokens",)] and _is_new(seen, f"config {_kind(config, path)}", path):
                for value in VALUES:
                    yield f"config {_name(path)}: {name_value(value)}", base, _change_config(path, value)
        for file, name in ((CHECKPOINT, "checkpoint"), ("weights.safetensors", "weights")):
            facts = dict(read_checkpoint(folder / file).facts)
            facts.pop("model", None)
            for path in list_paths(facts):
                if _is_new(seen, name, path):
                    for value in JSON_VALUES:
                        yield f"{name} {_name(path)}: {name_value(value)}", base, _change_facts(file, path, value)
                    yield f"{name} {_name(path)}: removed", base, _remove_fact(file, path)
        for side in ("source", "target"):
            tree = json.loads((folder / f"{side}.tokenizer.json").read_text())
            for path in list_paths(tree):
                if len(path) < 7 and "vocab" not in path[:-1] and _is_new(seen, f"{side} {_kind(tree, path)}", path):
                    for value in JSON_VALUES:
                        yield f"{base} {side} {_name(path)}: {name_value(value)}", base, _change_side(side, path, value)
        for file in ("attention_agreement.json", "held_out.jsonl"):
            text = (folder / file).read_text()
            for path in list_paths(json.loads(text if file.endswith(".json") else text.splitlines()[-1])):
                if path[0] not in ("digest", "weights") and _is_new(seen, file, path):
                    for value in JSON_VALUES:
                        yield f"{file} {_name(path)}: {name_value(value)}", base, _change_signed(file, path, value)


def _is_new(seen: set[str], where: str, path: tuple[str | int, ...]) -> bool:
    name = f"{where} {_name(path)}"
    return name not in seen and not seen.add(name)


def _kind(tree: Any, path: tuple[str | int, ...]) -> str:
    """What kind of part a place belongs to, so that parts of several kinds are all tried."""
    kinds = []
    for key in path[:-1]:
        tree = tree[key]
        kinds.append(str(tree.get("kind", tree.get("type", ""))) if isinstance(tree, Mapping) else "")
    return "/".join(kinds)


def _name(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))


def _change_config(path: tuple[str | int, ...], value: Any) -> Any:
    return lambda folder: folder.config(lambda tree: put_at(tree, path, value))


def _change_facts(file: str, path: tuple[str | int, ...], value: Any) -> Any:
    return lambda folder: change_checkpoint(folder, file, lambda facts: put_at(facts, path, value))


def _remove_fact(file: str, path: tuple[str | int, ...]) -> Any:
    def remove(facts: Any) -> None:
        for key in path[:-1]:
            facts = facts[key]
        del facts[path[-1]]

    return lambda folder: change_checkpoint(folder, file, remove)


def change_checkpoint(folder: Folder, file: str, change: Any) -> None:
    """Change the facts of a checkpoint."""
    path = folder.path / file
    checkpoint = read_checkpoint(path)
    facts = json.loads(json.dumps(checkpoint.facts))
    change(facts)
    text = json.dumps(facts)
    if "\\ud8" not in text:
        write_checkpoint(path, Checkpoint(checkpoint.tensors, facts))


def _change_side(side: str, path: tuple[str | int, ...], value: Any) -> Any:
    return lambda folder: folder.tokenizer(side, lambda tree: put_at(tree, path, value))


def _change_signed(file: str, path: tuple[str | int, ...], value: Any) -> Any:
    return lambda folder: sign(folder, file, lambda tree: put_at(tree, path, value))


def sign(folder: Folder, file: str, change: Any) -> None:
    """Change the last object of attention_agreement.json or held_out.jsonl, and write digests that fit."""
    place = folder.path / file
    if file.endswith(".json"):
        content = json.loads(place.read_text())
        content.pop("digest")
        change(content)
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        place.write_text(json.dumps({**content, "digest": digest}))
        return
    first, *lines = place.read_text().splitlines()
    head, last = json.loads(first), json.loads(lines[-1])
    head.pop("digest")
    change(last)
    write_held_out(place, head, [*lines[:-1], json.dumps(last)])


def write_held_out(place: Path, head: dict[str, Any], lines: list[str]) -> None:
    """Write held_out.jsonl with a digest that fits."""
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for line in lines:
        digest.update(line.encode() + b"\n")
    place.write_text("\n".join([json.dumps({**head, "digest": digest.hexdigest()}), *lines]) + "\n")
