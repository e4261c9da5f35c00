"""The attacks of `bench/hostile_runs.py` on configurations, tokenizers, labels, weights and their facts."""

import json
import struct
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import torch
from hostile_folders import BLOWS, Change, Folder, fill, list_file_cases, set_dtype

Case = tuple[str, str, Change]  # its name, the honest run it begins with, and what is changed
LAUGHS = "a: &a [1]\n" + "\n".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefghij"))
LETTERS = "x" * 1_000_000
NUMBERS: tuple[Any, ...] = (
    10**6,
    10**9,
    2**31,
    2**63,
    10**30,
    -1,
    0,
    1.5,
    "8",
    True,
    None,
    [8],
    {"kind": "x"},
    float("nan"),
)
FOREIGN = ("evil:X", "os:system", "subprocess:Popen", "code.evil:X", "..evil:X", ":", "evil:", "seq2see.cli.app:main")


def put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path."""
    *above, last = path.split(".")
    for key in above:
        if not isinstance(tree.get(key), dict):
            tree[key] = {"kind": tree[key]} if isinstance(tree.get(key), str) else {}
        tree = tree[key]
    tree[last] = value


def setting(path: str, value: Any) -> Change:
    """A change of one key of the configuration."""
    return lambda folder: folder.config(lambda tree: put(tree, path, value))


def list_yaml_cases() -> Iterator[Case]:
    """Text of a configuration that is no honest YAML."""
    texts = {
        "laughs": LAUGHS + "\n",
        "recursion": "seed: &a {b: *a}\n",
        "merge": "seed: 1\n<<: {a: 1}\n",
        "merges": "a: &a {b: 1}\nc: {<<: [" + ", ".join(["*a"] * 5000) + "]}\n",
        "python object": "seed: !!python/object/apply:os.system [id]\n",
        "python name": "seed: !!python/name:os.system\n",
        "set": "seed: !!set {a, b}\n",
        "binary": "seed: !!binary AAAA\n",
        "time": "seed: !!timestamp 2001-99-99\n",
        "long key": f"{LETTERS[:900]}: 1\n",
        "long word": f"task: {LETTERS[:90_000]}\n",
        "a million letters": f"task: {LETTERS}\n",
        "comment": f"# {LETTERS}\n",
        "deep flow": "a: " + "[" * 5000 + "]" * 5000 + "\n",
        "deep block": "".join(" " * n + "a:\n" for n in range(400)),
        "many keys": "".join(f"k{n}: 1\n" for n in range(9000)),
        "twice": "seed: 1\nseed: 2\n",
        "huge number": "seed: " + "9" * 50_000 + "\n",
        "huge exponent": "seed: 1e999999999\n",
        "octal": "seed: 0o777777777777777777777\n",
        "not a number": "seed: .nan\n",
        "escape codes": 'task: "\\e[2J\\a\\0"\n',
        "right to left": "task: \u202etransduction\n",
        "surrogate": 'task: "\\ud800"\n',
        "documents": "---\na: 1\n---\nb: 1\n" * 20,
        "complex key": "? [a, b]\n: 1\n",
        "list": "- 1\n",
        "text": "hello\n",
        "directive": "%YAML 9.9\n---\na: 1\n",
        "tabs": "\ta: 1\n",
        "null": "~\n",
        "questions": "? " * 20_000 + "\n",
        "colons": ": " * 20_000 + "\n",
    }
    for name, text in texts.items():
        yield f"yaml alone: {name}", "text", lambda folder, text=text: folder.yaml(text)
        if not text.startswith(("---", "%", "- ", "hello", "~", "seed", "task")):
            yield f"yaml added: {name}", "text", lambda folder, text=text: folder.append(text)


def list_config_cases() -> Iterator[Case]:
    """Values of a configuration that no model has."""
    sizes = ("model.encoder.size", "model.decoder.size", "model.decoder.embedding_size", "model.encoder.layers")
    for path, value in product(sizes, NUMBERS):
        yield f"{path}: {value}", "text", setting(path, value)
    more = {
        "transformer": ("model.encoder.heads", "model.encoder.inner_size", "model.decoder.layers"),
        "ntm": ("model.encoder.rows", "model.encoder.width", "model.encoder.heads"),
        "documents": ("model.encoder.size", "tokens.source.max_words", "tokens.source.max_sentences"),
        "labels": ("model.encoder.layers", "model.encoder.size"),
    }
    for base, paths in more.items():
        for path, value in product(paths, (3, 10**5, 10**6, 10**9)):
            yield f"{base} {path}: {value}", base, setting(path, value)
    for path, value in product(
        ("search.width", "search.max_length", "search.n_best", "search.min_length"), NUMBERS[:5]
    ):
        yield f"{path}: {value}", "text", setting(path, value)
    searches: list[Any] = [
        {"kind": "mbr", "search": {"kind": "beam", "width": 10**5}},
        {"kind": "mbr", "samples": 10**9},
        {"kind": "mbr", "search": {"kind": "mbr", "search": {"kind": "mbr"}}},
        {"kind": "sample", "top_k": 10**18, "n_best": 10**7},
        {"kind": "sample", "temperature": 1e-300},
        {"kind": "beam", "width": 5, "length_penalty": 1e308},
        {"kind": "greedy", "ban": ["x"] * 20_000},
        {"kind": "greedy", "ban": "x"},
        {"kind": "greedy", "no_repeat": 10**12},
        {"kind": LETTERS[:50_000]},
        {"kind": "greedy", LETTERS[:50_000]: 1},
        7,
        [],
        {"kind": ["beam"]},
    ]
    for search in searches:
        yield f"search: {str(search)[:60]}", "text", setting("search", search)
    slots = (
        "model.encoder",
        "model.decoder",
        "model.decoder.reader.score",
        "model.decoder.cell",
        "search",
        "tokens.source",
    )
    slots += ("train.schedule", "model.decoder.initial_state", "model.decoder.reader")
    for path, name in product(slots, FOREIGN):
        yield f"{path}: {name}", "text", setting(path, {"kind": name})
    for path, name in product(("data", "init", "backbone", "separator", "runs"), FOREIGN[:2]):
        yield f"hidden {path}: {name}", "text", setting(f"model.decoder.reader.{path}", {"kind": name, "score": name})
    for backbone in ("transformers:nobody/nothing", "transformers:/dev/zero", "efficientnet_lite0", ["small"] * 10_000):
        encoder = {"kind": "cnn", "backbone": backbone}
        yield f"backbone {str(backbone)[:40]}", "text", setting("model.encoder", encoder)
    others = {
        "task": ("classification", "x", 1, None),
        "seed": (10**30, -1, "x", None),
        "model.share": (["embeddings"], ["layers"], ["fitting"] * 5000, "x"),
        "data.max_tokens": (10**18, 0, "x"),
        "data.train": (LETTERS[:50_000], "/dev/zero", "\0", ["x"]),
        "init": ({"run": "/dev/zero"}, {"encoder": "x" * 5000}),
        "tokens": ({"joint": "words"}, {"source": "images", "target": "labels"}, {}, 3),
        "tokens.source": ({"kind": "images", "size": 2048}, {"kind": "documents"}, {"kind": "words", "size": 10**12}),
        "model.decoder": ({"kind": "transformer"}, {"kind": "ntm"}, None, {"kind": "rnn", "reader": "none"}),
        "model.encoder": ({"kind": "none", "memory_size": 10**6}, {"kind": "vit", "patch": 1}, {"kind": "han"}, "conv"),
        "model.decoder.window": ({"kind": "local-p", "radius": 10**9}, "local-m"),
        "train.distillation": ({"teachers": ["/dev/zero"]}, {"teachers": []}),
    }
    for path, values in others.items():
        for value in values:
            yield f"{path}: {str(value)[:60]}", "text", setting(path, value)


def regex(pattern: str) -> dict[str, Any]:
    """A pattern as the library writes it."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def grow(piece: str, content: str) -> dict[str, Any]:
    """A normalizer that lengthens a text."""
    return {"type": "Replace", "pattern": {"String": piece}, "content": content}


def list_tokenizer_cases() -> Iterator[Case]:
    """Tokenizer files that the library would believe."""
    padding = {"strategy": {"Fixed": 3_000_000_000}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    padding |= {"pad_type_id": 0, "pad_token": "<pad>"}
    sequence = {"type": "Sequence", "normalizers": [grow("a", "a" * 8)] * 12}
    changes: dict[str, Any] = {
        "padding": lambda t: t.update(padding=padding),
        "truncation": lambda t: t.update(
            truncation={"max_length": 0, "stride": 9, "strategy": "LongestFirst", "direction": "Right"}
        ),
        "growth": lambda t: t.update(normalizer=sequence),
        "prepend": lambda t: t.update(normalizer={"type": "Prepend", "prepend": LETTERS}),
        "no normalizer": lambda t: t.update(normalizer=None),
        "no pre_tokenizer": lambda t: t.update(pre_tokenizer=None),
        "charsmap": lambda t: t.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        "nested groups": lambda t: t.update(pre_tokenizer=regex("(a|a)*b")),
        "nested repeats": lambda t: t.update(pre_tokenizer=regex("(.*)*(.*)*(.*)*!")),
        "counted": lambda t: t.update(pre_tokenizer=regex("(a{1,1000}){1,1000}")),
        "empty pattern": lambda t: t.update(pre_tokenizer=regex("")),
        "long pattern": lambda t: t.update(pre_tokenizer=regex("a?" * 50_000)),
        "open group": lambda t: t.update(pre_tokenizer=regex("(" * 1000)),
        "optional": lambda t: t.update(pre_tokenizer=regex("a?")),
        "anchor": lambda t: t.update(pre_tokenizer=regex("^")),
        "unknown property": lambda t: t.update(pre_tokenizer=regex(r"\p{Nothing}")),
        "many parts": lambda t: t.update(pre_tokenizer={"type": "Sequence", "pretokenizers": [regex("a")] * 50_000}),
        "delimiter": lambda t: t.update(pre_tokenizer={"type": "CharDelimiterSplit", "delimiter": "ab"}),
        "template": lambda t: t.update(
            post_processor={"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}
        ),
        "decoder": lambda t: t.update(decoder={"type": "Strip", "content": "x", "start": 2**63, "stop": 1}),
        "dropout": lambda t: t["model"].update(dropout=1.0),
        "dropout out of range": lambda t: t["model"].update(dropout=7),
        "merge of nothing": lambda t: t["model"].update(merges=[["no", "thing"]]),
        "merges of numbers": lambda t: t["model"].update(merges=[1, 2]),
        "empty merge": lambda t: t["model"].update(merges=[["", ""]]),
        "other unknown": lambda t: t["model"].update(unk_token="nothing"),
        "no unknown": lambda t: t["model"].update(unk_token=None),
        "id out of range": lambda t: t["model"]["vocab"].update(x1=2**32 - 1),
        "id beyond 64 bits": lambda t: t["model"]["vocab"].update(x1=2**70),
        "negative id": lambda t: t["model"]["vocab"].update(x1=-1),
        "float id": lambda t: t["model"]["vocab"].update(x1=1.5),
        "same id": lambda t: t["model"]["vocab"].update(x1=4),
        "smaller": lambda t: t["model"].update(vocab=dict(list(t["model"]["vocab"].items())[:5]), merges=[]),
        "larger": lambda t: t["model"]["vocab"].update({f"x{n}": len(t["model"]["vocab"]) + n for n in range(50)}),
        "special gone": lambda t: t["model"]["vocab"].pop("<s>"),
        "special moved": lambda t: t["model"]["vocab"].update({"<s>": 2, "</s>": 1}),
        "special out of range": lambda t: t["added_tokens"][0].update(id=10**9),
        "special twice": lambda t: t["added_tokens"].append(t["added_tokens"][0]),
        "special empty": lambda t: t["added_tokens"][0].update(content=""),
        "many special": lambda t: t.update(
            added_tokens=[{**t["added_tokens"][0], "id": n, "content": f"<{n}>"} for n in range(20_000)]
        ),
        "other model": lambda t: t.update(model={"type": "WordPiece", "vocab": {}}),
        "piece of a million letters": lambda t: t["model"]["vocab"].update({LETTERS: len(t["model"]["vocab"])}),
        "escape codes in a piece": lambda t: t["model"]["vocab"].update({"\x1b[2J": len(t["model"]["vocab"])}),
        "no model": lambda t: t.pop("model"),
        "version": lambda t: t.update(version="9.0"),
        "kind of code": lambda t: t.update(kind="evil:X"),
        "kind unknown": lambda t: t.update(kind="x" * 100_000),
        "kind of labels": lambda t: t.update(kind="labels"),
        "kind of images": lambda t: t.update(kind="images"),
        "kind words": lambda t: t.update(kind="words"),
        "kind is a list": lambda t: t.update(kind=["bpe"]),
    }
    for (name, change), side in product(changes.items(), ("source", "target")):

        def apply(folder: Folder, change: Any = change, side: str = side) -> None:
            folder.tokenizer(side, lambda tree: change(tree))

        base = "text" if side == "source" else "bpe target"
        yield f"{side}: {name}", base, apply
    unigram = {
        "unknown id": lambda t: t["model"].update(unk_id=10**9),
        "no unknown id": lambda t: t["model"].update(unk_id=None),
        "empty piece": lambda t: t["model"]["vocab"].append(["", -1.0]),
        "score of infinity": lambda t: t["model"]["vocab"][5].__setitem__(1, float("inf")),
        "score of 1e308": lambda t: t["model"]["vocab"][5].__setitem__(1, 1e308),
        "scores that are no numbers": lambda t: [row.__setitem__(1, float("nan")) for row in t["model"]["vocab"]],
        "byte fallback": lambda t: t["model"].update(byte_fallback=True),
        "no vocabulary": lambda t: t["model"].update(vocab=[]),
    }
    for name, change in unigram.items():
        yield f"unigram: {name}", "transformer", lambda folder, c=change: folder.tokenizer("source", lambda t: c(t))
    texts = (
        "[" * 500_000,
        '{"a":' * 200_000,
        "null",
        "9" * 100_000,
        '"\\ud800"',
        '{"model": NaN}',
        "[]",
        '{"kind": 1}',
    )
    for text in (*texts, "[" + "[]," * 3_000_000 + "[]]", '{"kind": "images", "size": 1e9}', '{"kind": "documents"}'):
        yield f"tokenizer text: {text[:30]}", "text", lambda folder, text=text: folder.tokenizer_text("source", text)


def list_label_cases() -> Iterator[Case]:
    """Labels and limits of documents that no training writes."""
    values: dict[str, tuple[Any, ...]] = {
        "labels": (
            [],
            "ab",
            ["a", "a"],
            [1, 2],
            [LETTERS, "b"],
            ["\ud800", "b"],
            ["\x1b[2J", "b"],
            ["a"] * 9,
            None,
            [["a"], "b"],
        ),
        "counts": ([0, 0], [-1, 1], [1], [10**400, 1], ["1", "1"], [True, True], [1.5, 1]),
        "sources": (0, -1, 10**400, "x", None),
        "separator": ("", 3, LETTERS, ["a"], "|"),
        "kind": ("images", "evil:X", "words", None),
    }
    for name, several in values.items():
        for value in several:
            yield (
                f"labels: {name} {str(value)[:30]}",
                "labels",
                lambda folder, n=name, v=value: folder.tokenizer("target", lambda tree: tree.update({n: v})),
            )
    for name, value in product(("max_words", "max_sentences"), (0, -1, 10**30, "3", None, 1.5, True)):
        yield (
            f"documents: {name} {value}",
            "documents",
            lambda folder, n=name, v=value: folder.tokenizer("source", lambda tree: tree.update({n: v})),
        )
    yield (
        "labels as a source",
        "labels",
        lambda folder: folder.tokenizer_text("source", (folder.path / "target.tokenizer.json").read_text()),
    )
    yield (
        "a text as labels",
        "labels",
        lambda folder: folder.tokenizer_text("target", (folder.path / "source.tokenizer.json").read_text()),
    )


def list_weight_cases() -> Iterator[Case]:
    """Weights with headers, types, shapes, values and facts that no training writes."""

    def first(header: dict[str, Any]) -> dict[str, Any]:
        return next(entry for name, entry in header.items() if name != "__metadata__")

    entries: dict[str, Any] = {
        "offsets overlap": lambda h: first(h).update(data_offsets=[0, 8]),
        "offsets backwards": lambda h: first(h).update(data_offsets=[8, 0]),
        "offsets beyond": lambda h: first(h).update(data_offsets=[0, 2**60]),
        "offsets negative": lambda h: first(h).update(data_offsets=[-8, 0]),
        "offsets of text": lambda h: first(h).update(data_offsets=["0", "8"]),
        "shape huge": lambda h: first(h).update(shape=[2**40, 2**40]),
        "shape negative": lambda h: first(h).update(shape=[-1, -1]),
        "shape deep": lambda h: first(h).update(shape=[1] * 5000),
        "shape of floats": lambda h: first(h).update(shape=[1.5]),
        "shape flat": lambda h: first(h).update(shape=[2**62, 0]),
        "type unknown": lambda h: first(h).update(dtype="F8_E4M3"),
        "type number": lambda h: first(h).update(dtype=3),
        "type other": lambda h: first(h).update(dtype="I32"),
        "entry empty": lambda h: h.update(more={}),
        "entry list": lambda h: h.update(more=[]),
        "no metadata": lambda h: h.pop("__metadata__"),
        "metadata list": lambda h: h.update(__metadata__=[]),
        "metadata number": lambda h: h["__metadata__"].update(facts=3),
        "no facts": lambda h: h["__metadata__"].pop("facts"),
        "no digest": lambda h: h["__metadata__"].pop("digest"),
        "facts of brackets": lambda h: h["__metadata__"].update(facts="[" * 100_000),
        "names of nothing": lambda h: h["__metadata__"].update(names='{"a": "b"}'),
        "long name": lambda h: h.update({LETTERS: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}),
        "many names": lambda h: h.update(
            {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(120_000)}
        ),
    }
    for name, change in entries.items():
        yield f"header: {name}", "text", lambda folder, c=change: folder.header(lambda header: c(header))
    for name, start in {"2**60": 2**60, "2**64 - 1": 2**64 - 1, "0": 0, "7": 7, "10**8": 10**8}.items():

        def lengthen(folder: Folder, start: int = start) -> None:
            path = folder.path / "weights.safetensors"
            path.write_bytes(struct.pack("<Q", start) + path.read_bytes()[8:])

        yield f"header of {name} bytes", "text", lengthen
    for dtype in (torch.float16, torch.float64, torch.int64, torch.bool, torch.bfloat16):
        yield f"weights as {dtype}", "text", set_dtype(dtype)
    for base, value in product(
        ("text", "transformer", "labels", "documents", "ntm"), (float("nan"), float("inf"), 1e30, 0.0)
    ):
        yield f"{base}: weights of {value}", base, fill(value)
    tensors: dict[str, Any] = {
        "one gone": lambda t: t.pop(next(iter(t))),
        "all gone": lambda t: t.clear(),
        "one more": lambda t: t.update(more=torch.zeros(3)),
        "one transposed": lambda t: t.update({n: v.T.contiguous() for n, v in list(t.items()) if v.ndim == 2}),
        "one scalar": lambda t: t.update({next(iter(t)): torch.zeros(())}),
        "one empty": lambda t: t.update({next(iter(t)): torch.zeros(0, 7)}),
        "one larger": lambda t: t.update({next(iter(t)): torch.zeros(5000, 5000)}),
        "other names": lambda t: [t.update({f"{n}.x": t.pop(n)}) for n in list(t)],
    }
    for name, change in tensors.items():
        yield f"tensors: {name}", "text", lambda folder, c=change: folder.weights(lambda t: c(t))
    facts: dict[str, tuple[Any, ...]] = {
        "longest_target": (10**9, 10**30, 50_000, 2_000, -1, "x", 1.5, None, [], float("nan"), True),
        "tokenizers": (None, [], {}, "x", {"source": 3}, {"source": ["x"], "target": {}}),
        "model": (None, [], {}, "x", {"model": None}, {"model": {"encoder": LETTERS}}),
        "complete": (None, "x"),
        "update": ("x", 10**30),
        "scales": ("x", {"a": float("nan")}),
    }
    for name, values in facts.items():
        for value in values:
            yield (
                f"facts: {name} {str(value)[:30]}",
                "text",
                lambda folder, n=name, v=value: folder.facts(lambda facts: facts.update({n: v})),
            )
    for value in (0, -1.0, float("nan"), float("inf"), 1e300, 5e-324, "x", None, [1.0], 10**400):
        yield (
            f"facts: temperature {str(value)[:20]}",
            "labels",
            lambda folder, v=value: folder.facts(lambda facts: facts.update(temperature=v)),
        )
    yield (
        "facts: deep",
        "text",
        lambda folder: folder.facts(lambda facts: facts.update(x=json.loads("[" * 900 + "]" * 900))),
    )
    yield "facts: many", "text", lambda folder: folder.facts(lambda facts: facts.update(x=[[]] * 2_100_000))


def list_other_cases() -> Iterator[Case]:
    """The format file and the metrics."""
    contents = (
        "3",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 3}',
        '{"format": "2"}',
        '{"format": 2.0}',
        '{"format": true}',
    )
    contents += (
        '{"format": [2]}',
        '{"format": {}}',
        '{"format": NaN}',
        f'{{"format": "{LETTERS[:5000]}"}}',
        '{"format": 2, "format": 1}',
    )
    contents += ('{"format": ' + "9" * 5000 + "}", '{"format": -1}', '{"format": "\\u001b[2J"}')
    for content in contents:
        yield f"run.json: {content[:40]}", "text", lambda folder, c=content: (folder.path / "run.json").write_text(c)
    for blow in ("pipe", "zero"):
        yield f"code is a {blow}", "text", lambda folder, b=blow: BLOWS[b](folder.path / "code" / "x.py")


def list_cases() -> list[Case]:
    """All cases."""
    parts = (list_file_cases, list_yaml_cases, list_config_cases, list_tokenizer_cases, list_label_cases)
    return [case for part in (*parts, list_weight_cases, list_other_cases) for case in part()]
