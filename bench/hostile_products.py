"""Attacks of numbers that are harmless alone, of files beside the model, and of what is printed.

Models and weights fit each other here wherever that is what an attacker would see to.
"""

import json
import pickle
import re
import struct
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import torch
from hostile_cases import Case, put
from hostile_folders import CANARY, CHECKPOINT, Change, Folder
from hostile_values import write_held_out

CODES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eabc\u2066\r\n"
MARKS = ["<pad>", "<s>", "</s>", "<unk>"]


def configure(**settings: Any) -> Change:
    """Several keys of the configuration; a dot is written as two underscores."""

    def change(tree: dict[str, Any]) -> None:
        for path, value in settings.items():
            put(tree, path.replace("__", "."), value)

    return lambda folder: folder.config(change)


def resize_images(size: int, **settings: Any) -> Change:
    """Another size of images, in the configuration and in the file of the source; positions of patches grow along."""

    def apply(folder: Folder) -> None:
        folder.tokenizer("source", lambda tree: tree.update(size=size))
        configure(tokens__source__size=size, **settings)(folder)
        patch = settings.get("model__encoder__patch", 8)

        def grow(tensors: dict[str, torch.Tensor]) -> None:
            if "encoder.positions" in tensors:
                width = tensors["encoder.positions"].shape[-1]
                tensors["encoder.positions"] = torch.zeros(size // patch, size // patch, width)
                weight = tensors["encoder.project_patches.weight"]
                tensors["encoder.project_patches.weight"] = torch.zeros(*weight.shape[:2], patch, patch)

        folder.weights(grow)

    return apply


def deepen(layers: int, half: str) -> Change:
    """So many layers of a Transformer, each with weights."""

    def apply(folder: Folder) -> None:
        def copy(tensors: dict[str, torch.Tensor]) -> None:
            first = {n: t for n, t in tensors.items() if n.startswith(f"{half}.layers.0.")}
            for number, (name, tensor) in product(range(2, layers), first.items()):
                tensors[name.replace("layers.0.", f"layers.{number}.")] = tensor.clone()

        folder.weights(copy)
        configure(**{f"model__{half}__layers": layers})(folder)

    return apply


def widen_vocabulary(side: str, count: int) -> Change:
    """A vocabulary of words with weights for every one of them."""

    def apply(folder: Folder) -> None:
        def change(tree: dict[str, Any]) -> None:
            vocabulary = {mark: number for number, mark in enumerate(MARKS)}
            vocabulary |= {f"w{number}": number for number in range(len(MARKS), count)}
            tree.update(model={"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"})

        folder.tokenizer(side, change)
        folder.weights(lambda tensors: grow_rows(tensors, "encoder" if side == "source" else "decoder", count))

    return apply


def grow_rows(tensors: dict[str, torch.Tensor], half: str, count: int) -> None:
    """Give an embedding, and what is as long as it, more rows."""
    rows = next(tensor.shape[0] for name, tensor in tensors.items() if name == f"{half}.embed.weight")
    for name, tensor in list(tensors.items()):
        if name.startswith(half) and tensor.shape[0] == rows:
            tensors[name] = torch.zeros(count, *tensor.shape[1:])


def list_product_cases() -> Iterator[Case]:
    """Products of sizes, models that fit their weights, and searches."""
    for base, size, patch in product(("cnn", "vit"), (64, 256, 512, 1024, 2048), (8, 4, 2, 1)):
        if base == "vit":
            change = resize_images(size, model__encoder__patch=patch)
            yield f"vit: {size} pixels in patches of {patch}", base, change
        elif patch == 8:
            yield f"cnn: {size} pixels", base, resize_images(size)
    for layers, half in product((100, 1000, 3000), ("encoder", "decoder")):
        yield f"{layers} layers of the {half}, with weights", "transformer", deepen(layers, half)
    for count, side in product((50_000, 300_000, 900_000), ("source", "target")):
        yield f"{count} words of the {side}, with weights", "text", widen_vocabulary(side, count)
    searches: list[dict[str, Any]] = [
        {"kind": "mbr", "search": {"kind": "beam", "width": width, "n_best": width}, "samples": samples}
        for width, samples in ((1000, 0), (300, 300), (1, 1000), (100, 1000))
    ]
    searches += [{"kind": "beam", "width": width, "n_best": width} for width in (100, 999, 1000, 1001)]
    searches += [{"kind": "sample", "n_best": 1000}, {"kind": "beam", "width": 1000, "max_length": 100}]
    searches += [{"kind": "greedy", "max_length": 100_000, "min_length": 99_999}]
    searches += [{"kind": "greedy", "min_length": number, "max_length": number} for number in (1_000, 10_000, 50_000)]
    searches += [{"kind": "beam", "width": 5, "min_length": 20_000, "max_length": 20_000, "no_repeat": 1}]
    searches += [{"kind": "greedy", "ban": [["a", "b"]] * 50_000}, {"kind": "greedy", "require": ["a"] * 5_000}]
    for search, base in product(searches, ("text", "transformer", "conv", "ntm")):
        yield f"{base} decodes {json.dumps(search)[:90]}", base, configure(search=search)
    for number, base in product((1_000, 10_000, 99_000), ("text", "transformer", "conv", "ntm", "vit")):
        yield (
            f"{base} with a longest target of {number}",
            base,
            lambda folder, n=number: folder.facts(lambda facts: facts.update(longest_target=n)),
        )
    for path, value in product(
        ("model.decoder.reader.score", "model.encoder.position", "model.decoder.position"),
        ({"kind": "location", "max_positions": 10**6}, {"kind": "learned", "max_length": 10**6}, "rotary"),
    ):
        yield f"conv {path}: {value}", "conv", lambda f, p=path, v=value: f.config(lambda tree: put(tree, p, v))
    for path, value in product(
        ("model.encoder.width", "model.decoder.width", "model.encoder.layers"), (100, 10**4, 10**6)
    ):
        yield f"conv {path}: {value}", "conv", lambda f, p=path, v=value: f.config(lambda tree: put(tree, p, v))


class Explosion:
    """Would leave a trace if it were unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.path, "w")


def write_pickle(name: str) -> Change:
    """A pickle in place of a file."""
    return lambda folder: (folder.path / name).write_bytes(pickle.dumps(Explosion(str(folder.path.parent / CANARY))))


def write_torch(name: str) -> Change:
    """A file of torch, with a pickle inside, in place of a file."""
    return lambda folder: torch.save(Explosion(str(folder.path.parent / CANARY)), folder.path / name)


def fill_held_out(count: int, **line: Any) -> Change:
    """Many lines, with a digest that fits."""

    def apply(folder: Folder) -> None:
        place = folder.path / "held_out.jsonl"
        first, second, *_ = place.read_text().splitlines()
        head, honest = json.loads(first), json.loads(second)
        head.pop("digest")
        write_held_out(place, head, [json.dumps({**honest, **line})] * count)

    return apply


def lengthen_header(size: int) -> Change:
    """A header of weights with so many blanks behind it."""

    def apply(folder: Folder) -> None:
        path = folder.path / "weights.safetensors"
        data = path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        text = data[8 : 8 + length] + b" " * size
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return apply


def append_metrics(line: str, count: int = 1) -> Change:
    """Lines behind those of metrics.jsonl."""

    def apply(folder: Folder) -> None:
        with (folder.path / "metrics.jsonl").open("a") as file:
            file.writelines([line + "\n"] * count)

    return apply


def write_config_line(old: str, new: str) -> Change:
    """A line of the configuration, as text."""

    def apply(folder: Folder) -> None:
        text = (folder.path / "config.yaml").read_text()
        folder.yaml(re.sub(old, lambda _: new, text.removesuffix("...\n"), count=1))

    return apply


def rename_folder(name: str) -> Change:
    """The run folder under another name."""
    return lambda folder: folder.path.rename(folder.path.with_name(name))


def add_file(name: str, size: int = 0) -> Change:
    """A further file without content, of any size."""

    def apply(folder: Folder) -> None:
        with (folder.path / name).open("wb") as file:
            file.truncate(size)

    return apply


def list_beside_cases() -> Iterator[Case]:
    """Pickles, examples, metrics, headers, names, and words with control codes."""
    names = (
        "\udcff\udcfe",
        "\x1b[2J",
        "a\nb",
        "x" * 255,
        "-n",
        "\u202eabc",
        "<script>alert(1)<",
        "a b'c\"d",
        "\ud7a3" * 80,
    )
    for name, base in product(names, ("text", "labels")):
        yield f"{base} in a folder called {ascii(name)[:30]}", base, rename_folder(name)
    for name in names:
        yield f"a file called {ascii(name)[:30]}", "text", add_file(name.replace("/", ""))
    yield "a file of 1 TB", "text", add_file("more", 2**40)
    yield "weights of 1 TB", "text", add_file("weights.safetensors", 2**40)
    yield "a checkpoint of 1 TB", "text", add_file(CHECKPOINT, 2**40)
    yield "examples of 1 TB", "text", add_file("held_out.jsonl", 2**40)
    for name in ("weights.safetensors", CHECKPOINT, "config.yaml", "source.tokenizer.json", "held_out.jsonl"):
        yield f"{name} is a pickle", "text", write_pickle(name)
        yield f"{name} is a file of torch", "text", write_torch(name)
    for size in (10**6, 20 * 10**6, 10**8):
        yield f"a header with {size} blanks", "text", lengthen_header(size)
    yield "many examples", "text", fill_held_out(50_000)
    yield "long examples", "text", fill_held_out(3, source="x" * 5_000_000)
    yield "examples of codes", "text", fill_held_out(3, source=CODES, output=CODES, references=[CODES])
    yield "many references", "text", fill_held_out(2, references=["a"] * 500_000)
    yield "an image of quotes", "text", fill_held_out(2, image='data:image/png;base64,"><script>alert(1)</script>')
    yield "an image of a million letters", "text", fill_held_out(2, image="data:image/png;base64," + "A" * 5_000_000)
    rows = ("[" * 100_000, '{"update": ' + "9" * 4000 + "}", '{"update": 3, "x": 1e400}', '{"update": -1}', "{}" * 9)
    rows += ('{"update": 3, "' + "\\u001b[2J" * 9 + '": 1.0}', '{"update": 3, "' + "n" * 100_000 + '": 1.0}')
    rows += (json.dumps({"update": 3, **{f"m{n}": n for n in range(50_000)}}), '{"update": 9007199254740992}')
    for row in rows:
        yield f"a row of metrics {ascii(row)[:40]}", "text", append_metrics(row)
    yield "a million rows of metrics", "text", append_metrics('{"update": 3, "valid_loss": 1.0}', 1_000_000)
    yield "a preset of codes", "text", configure(preset=CODES)
    yield "columns of codes", "text", configure(data__fields=[CODES, "\x9b2J"])
    yield "files of codes", "text", configure(data__train=f"/tmp/{CODES}")
    yield "labels of codes", "labels", lambda f: f.tokenizer("target", lambda t: t.update(labels=[CODES, "\x9b2J"]))
    for name in ("source", "target"):

        def swap(folder: Folder, side: str = name) -> None:
            def change(tree: dict[str, Any]) -> None:
                vocabulary, merges = tree["model"]["vocab"], tree["model"]["merges"]
                pieces = [piece for piece in vocabulary if piece not in MARKS]
                for piece in pieces:
                    vocabulary[f"\x1b[{piece}\u202e\x9b"] = vocabulary.pop(piece)
                merges.clear()

            folder.tokenizer(side, change)

        yield f"pieces of codes in the {name}", "text", swap
    lines = {
        "number": ("width: 5", "width: 0x7fffffffffffffff"),
        "sexagesimal": ("width: 5", "width: 190:20:30"),
        "anchor": ("seed: 1", "seed: &a 1"),
        "tag": ("seed: 1", "seed: !!float 1"),
        "date": ("seed: 1", "seed: 2001-01-01"),
        "exponent": ("dropout: 0.1", "dropout: 1.0e+400"),
        "comment of codes": ("seed: 1", "seed: 1 # \x85\u2028"),
    }
    for name, (old, new) in lines.items():
        yield f"a line with a {name}", "text", write_config_line(old, new)
