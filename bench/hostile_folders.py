"""Malicious run folders, made from small honest ones, for `bench/hostile_runs.py`.

Most are consistent: digests are written anew, as somebody would who knows the format, so that the attack reaches the
code behind them. None harms anything: code that must not run would write a file whose name is in `CANARY`.
"""

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
import yaml
from PIL import Image
from torch import Tensor

import seq2see
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seq2see.runs.config_digest import add_digest

CANARY = "foreign-code-ran"
FILES = ("config.yaml", "run.json", "source.tokenizer.json", "target.tokenizer.json", "weights.safetensors")
MORE_FILES = ("metrics.jsonl", "held_out.jsonl", "attention_agreement.json")
LOCK, BEST = "checkpoints/training.lock", "checkpoints/best.safetensors"
CHECKPOINT = "checkpoints/update-000000002.safetensors"
TEXT = [(f"{a} {b}", f"{b} {a}") for a in "abcdefgh" for b in "stuvwxyz"]
LABELS = [(f"{a} {b} {a}. {b} it is.", "yes" if a < "e" else "no") for a in "abcdefgh" for b in "stuvwxyz"]
SHORT = {"updates": 2, "validate_every": 2, "workers": 1}
FLAT = {"optimizer": "adam", "schedule": "constant"}
Change = Callable[["Folder"], object]


@dataclass(frozen=True)
class Folder:
    """A copy of an honest run folder, which a case changes."""

    path: Path

    def config(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the configuration as a tree."""
        tree = yaml.safe_load((self.path / "config.yaml").read_text())
        change(tree)
        self.yaml(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))

    def yaml(self, text: str) -> None:
        """Write the configuration as text, with its digest, and the weights with its sections."""
        (self.path / "config.yaml").write_text(add_digest(text + "...\n"))
        try:
            tree = yaml.safe_load(text) if len(text) < 20_000 and not re.search(r"[*&]\w", text) else None
        except (yaml.YAMLError, ValueError, RecursionError):
            tree = None
        if isinstance(tree, dict) and "\\ud" not in text:  # half a character cannot be among the facts
            shape = {name: tree.get(name) for name in ("task", "model", "tokens")}
            self.facts(lambda facts: facts.update(model=merge(facts["model"], shape)))

    def append(self, lines: str) -> None:
        """Add lines to the configuration."""
        text = (self.path / "config.yaml").read_text()
        self.yaml(text.removesuffix("...\n") + lines)

    def facts(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the facts of the weights."""
        checkpoint = read_checkpoint(self.path / "weights.safetensors")
        facts = json.loads(json.dumps(checkpoint.facts))
        change(facts)
        write_checkpoint(self.path / "weights.safetensors", Checkpoint(checkpoint.tensors, facts))

    def weights(self, change: Callable[[dict[str, Tensor]], object]) -> None:
        """Change the tensors."""
        checkpoint = read_checkpoint(self.path / "weights.safetensors")
        tensors = {name: tensor.clone() for name, tensor in checkpoint.tensors.items()}
        change(tensors)
        write_checkpoint(self.path / "weights.safetensors", Checkpoint(tensors, checkpoint.facts))

    def header(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the header of the weights, and nothing else of them."""
        data = (self.path / "weights.safetensors").read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        (self.path / "weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    def tokenizer(self, side: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a tokenizer's file as a tree."""
        tree = json.loads((self.path / f"{side}.tokenizer.json").read_text())
        change(tree)
        self.tokenizer_text(side, json.dumps(tree))

    def tokenizer_text(self, side: str, text: str) -> None:
        """Write a tokenizer's file, with its digest among the facts."""
        (self.path / f"{side}.tokenizer.json").write_text(text)
        self.facts(lambda facts: facts["tokenizers"].update({side: hashlib.sha256(text.encode()).hexdigest()}))


def merge(below: Any, above: Any) -> Any:
    """Put one tree over another."""
    if not isinstance(below, dict) or not isinstance(above, dict) or "kind" in above:
        return above
    return {**below, **{key: merge(below.get(key), value) for key, value in above.items()}}


def make_bases(folder: Path) -> dict[str, Path]:
    """Train the honest runs: a text with attention, a Transformer, labels of texts, and labels of documents."""
    rnn = {"model.encoder": {"kind": "rnn", "size": 8, "embedding_size": 7}, "preset": "bahdanau2015"}
    decoder = {"kind": "rnn", "size": 9, "embedding_size": 6, "reader": {"kind": "before", "score": "additive"}}
    small = {"size": 8, "inner_size": 12, "layers": 2, "heads": 2}
    images = draw_images(folder)
    made = {
        "text": (
            TEXT,
            {
                **rnn,
                "model.decoder": decoder,
                "tokens.source": {"kind": "bpe", "size": 40},
                "tokens.target": {"kind": "bpe", "size": 40},
            },
        ),
        "transformer": (
            TEXT,
            {
                "preset": "transformer-tiny",
                "tokens": {"joint": {"kind": "unigram", "size": 40}},
                "model.encoder": {"kind": "transformer", **small},
                "model.decoder": {"kind": "transformer", **small},
            },
        ),
        "labels": (LABELS, {"preset": "transformer-classifier", "model.encoder": {"kind": "transformer", **small}}),
        "documents": (LABELS, {"preset": "han2016", "model.encoder": {"kind": "han", "size": 5, "embedding_size": 6}}),
        "ntm": (
            TEXT,
            {"preset": "ntm2014", "model.encoder": {"kind": "ntm", "size": 64, "rows": 5, "width": 4}},
        ),
        "conv": (
            TEXT,
            {
                "preset": "convs2s2017",
                "tokens": {"source": "characters", "target": "characters"},
                "model.encoder": {"kind": "conv", "size": 8, "embedding_size": 6, "layers": 2},
                "model.decoder": {"kind": "conv", "size": 8, "embedding_size": 6, "layers": 2},
            },
        ),
        "cnn": (
            images,
            {
                "preset": "show-attend-tell2015",
                "tokens": {"source": {"kind": "images", "size": 32, "mirror": False}, "target": "words"},
                "model.encoder": {"kind": "cnn", "backbone": "cells", "layer": [1, 2], "size": 8},
                "model.decoder.size": 9,
                "model.decoder.embedding_size": 6,
            },
        ),
        "vit": (
            images,
            {
                "preset": "vit-caption",
                "tokens.source": {"kind": "images", "size": 32, "mirror": False},
                "tokens.target": {"kind": "words"},
                "model.encoder": {"kind": "vit", "patch": 8, **small},
                "model.decoder": {"kind": "transformer", **small},
            },
        ),
    }
    paths = {}
    for name, (pairs, settings) in made.items():
        paths[name] = folder / name
        if not (paths[name] / "weights.safetensors").is_file():
            seq2see.train(pairs, out=paths[name], progress=False, train={**SHORT, **FLAT}, **settings)
    return paths


def draw_images(folder: Path) -> Path:
    """Draw images of two colours, and return the file that names them with captions."""
    place = folder.parent / "images"
    place.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (left, right) in enumerate(product(("red", "green", "blue", "gold"), repeat=2)):
        image = Image.new("RGB", (32, 32), left)
        image.paste(right, (16, 0, 32, 32))
        image.save(place / f"{number}.png")
        rows.append({"image": f"{number}.png", "caption": f"{left} and {right}"})
    (place / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place / "train.jsonl"


def copy_base(base: Path, target: Path) -> Folder:
    """Copy what loading reads, with code that would leave a trace if it ran."""
    target.mkdir(parents=True)
    for name in (*FILES, *MORE_FILES):
        if (base / name).is_file():
            shutil.copy(base / name, target / name)
    for name in ("checkpoints", "data"):
        if (base / name).is_dir():
            shutil.copytree(base / name, target / name)
    (target / "code").mkdir()
    evil = f"open({str(target.parent / CANARY)!r}, 'w').close()\nclass X:\n    def __init__(self, **o): pass\n"
    for place in (target / "code" / "evil.py", target / "evil.py"):
        place.write_text(evil)
    return Folder(target)


def replace_file(name: str, change: Callable[[Path], object]) -> Change:
    """A change of one file by its path, after it is removed."""

    def apply(folder: Folder) -> None:
        path = folder.path / name
        content = path.read_bytes() if path.is_file() else b""
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        returned = change(path)
        if callable(returned):
            path.write_bytes(returned(content))

    return apply


def replace_anything(name: str, change: Callable[[Path], object]) -> Change:
    """A change of a file or of a whole folder by its path."""

    def apply(folder: Folder) -> None:
        if (folder.path / name).is_dir():
            shutil.rmtree(folder.path / name)
        replace_file(name, change)(folder)

    return apply


def rename_checkpoint(name: str) -> Change:
    """The checkpoint under another name."""
    return lambda folder: (folder.path / CHECKPOINT).rename(folder.path / "checkpoints" / f"{name}.safetensors")


def make_sparse(size: int) -> Callable[[Path], object]:
    """A file of that size without content."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return write


BLOWS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "cut": lambda path: lambda content: content[: len(content) // 2],
    "doubled": lambda path: lambda content: content * 2,
    "pipe": lambda path: os.mkfifo(path),
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "random device": lambda path: path.symlink_to("/dev/urandom"),
    "outside": lambda path: path.symlink_to("/etc/passwd"),
    "process memory": lambda path: path.symlink_to("/proc/self/maps"),
    "itself": lambda path: path.symlink_to(path.name),
    "folder": lambda path: path.mkdir(),
    "sparse": make_sparse(50 * 2**30),
    "sparse 300 MB": make_sparse(300 * 2**20),
    "random bytes": lambda path: lambda content: os.urandom(5000),
    "zeros": lambda path: lambda content: bytes(1_000_000),
    "utf-16": lambda path: lambda content: content.decode("latin-1").encode("utf-16"),
    "brackets": lambda path: lambda content: b"[" * 1_000_000,
    "objects": lambda path: lambda content: b'{"a":' * 500_000,
    "byte order mark": lambda path: lambda content: b"\xef\xbb\xbf" + content,
    "carriage returns": lambda path: lambda content: content.replace(b"\n", b"\r\n"),
}


def list_file_cases() -> Iterator[tuple[str, str, Change]]:
    """Every file of a run as what it must not be."""
    for name in (*FILES, *MORE_FILES, CHECKPOINT):
        for blow, change in BLOWS.items():
            yield f"{name}: {blow}", "text", replace_file(name, change)
    yield (
        "folder is a link",
        "text",
        lambda folder: (shutil.move(folder.path, f"{folder.path}.real"), folder.path.symlink_to(f"{folder.path}.real")),
    )
    for name in ("checkpoints", "code", "data", "tensorboard", "attention", "report.html", LOCK, BEST):
        for blow in ("pipe", "zero", "itself", "folder", "random bytes"):
            yield f"{name}: {blow}", "text", replace_anything(name, BLOWS[blow])
    for name in ("update-x", "update-", "update--1", "update-9999999999999999999999", "update-0000000020"):
        yield f"checkpoint called {name}", "text", rename_checkpoint(name)


def set_dtype(dtype: torch.dtype) -> Change:
    """All weights in another type."""
    return lambda folder: folder.weights(lambda tensors: tensors.update({n: t.to(dtype) for n, t in tensors.items()}))


def fill(value: float) -> Change:
    """All weights of one value."""
    return lambda folder: folder.weights(lambda tensors: [tensor.fill_(value) for tensor in tensors.values()])
