"""Tokenizer files of strangers: only parts that our own tokenizers have, none of which takes long."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from seq2see.core.errors import TokenError
from seq2see.core.registry import names, part
from seq2see.data.modalities.learn import read_modality, read_target
from seq2see.data.tokenizers import Tokenizer, explaining_failures

Change = Callable[[dict[str, Any]], object]
TEXTS = ["the cat sat, it's on the mat", "你好，世界 the dog", "a <s> b"] * 3
KINDS = [kind for kind in names("tokenizer") if kind not in ("images", "documents", "labels")]


def learn(kind: str) -> Tokenizer:
    """Learn one kind; words are those without punctuation, which have the most patterns."""
    options = {"lowercase": True, "punctuation": False, "min_count": 1} if kind == "words" else {}
    learned: Tokenizer = part("tokenizer", {"kind": kind, **options})().learn(TEXTS)
    return learned


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_ours_are_read(kind: str) -> None:
    tokenizer = learn(kind)
    assert Tokenizer.from_json(tokenizer.to_json()).ids(TEXTS) == tokenizer.ids(TEXTS)


def replace(pattern: str, content: str = "") -> dict[str, Any]:
    """A normalizer that replaces."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def split(pattern: str) -> dict[str, Any]:
    """What divides at a pattern."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


PADDING = {
    "strategy": {"Fixed": 3_000_000_000},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "<pad>",
}
CHANGES: list[tuple[str, Change, str]] = [
    ("bpe", lambda t: t.update(padding=PADDING), "padding must be null"),
    ("bpe", lambda t: t.update(truncation={"max_length": 1}), "truncation must be null"),
    ("bpe", lambda t: t.update(post_processor={"type": "TemplateProcessing"}), "post_processor must be null"),
    ("bpe", lambda t: t.update(decoder={"type": "CTC"}), "decoder must be null"),
    ("bpe", lambda t: t.update(surprise=1), "must have no other keys"),
    ("bpe", lambda t: t.update(normalizer=None), "normalizer must be an object"),
    ("bpe", lambda t: t.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "must be one of"),
    ("bpe", lambda t: t.update(normalizer=replace("a", "aaaaaaaa")), "must remove what it finds"),
    ("bpe", lambda t: t.update(normalizer={"type": "Prepend", "prepend": "x" * 99}), "Prepend puts a mark"),
    ("bpe", lambda t: t["normalizer"].update(normalizers=[{"type": "NFC"}] * 17), "too many parts"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("(a+)+$")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("(?:a|a)*b")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("a*a*a*b")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("(?=a+)a+")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("a{1000}")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("")), "a regular expression must"),
    ("bpe", lambda t: t.update(pre_tokenizer=split("a" * 2000)), "a short regular expression"),
    ("bpe", lambda t: t.update(pre_tokenizer={"type": "ByteLevel"}), "must be Metaspace or Split"),
    ("bpe", lambda t: t["model"].update(dropout=0.5), "dropout must be None"),
    ("bpe", lambda t: t["model"].update(unk_token=None), "unk_token must be <unk>"),
    ("bpe", lambda t: t["model"]["merges"].append(["nothing", "known"]), "a merge must be two pieces"),
    ("bpe", lambda t: t["model"]["merges"].append(7), "a merge must be two pieces"),
    ("bpe", lambda t: t["model"]["vocab"].update(new=2**60), "gaps or repetitions"),
    ("bpe", lambda t: t["model"]["vocab"].update(new=-1), "gaps or repetitions"),
    ("bpe", lambda t: t["model"]["vocab"].update(new="4"), "an id must be a whole number"),
    ("bpe", lambda t: t["model"]["vocab"].update(new=True), "an id must be a whole number"),
    ("bpe", lambda t: t["model"].update(type="WordPiece"), "model must be one of"),
    ("bpe", lambda t: t.update(model=[]), "model must be one of"),
    ("bpe", lambda t: t["added_tokens"][0].update(id=99), "added_tokens must be"),
    ("unigram", lambda t: t["model"].update(unk_id=9_000), "unk_id must be 3"),
    ("unigram", lambda t: t["model"]["vocab"].append(["", -1.0]), "a piece must be a text"),
    ("unigram", lambda t: t["model"]["vocab"].append(["x" * 20_000, -1.0]), "a piece must be a text"),
    ("unigram", lambda t: t["model"]["vocab"].append(["\ud800", -1.0]), "a piece must be a text"),
    ("unigram", lambda t: t["model"]["vocab"].append(["new", None]), "a score must be a number"),
    ("unigram", lambda t: t["model"]["vocab"].append(["new", 1e300]), "a score must be a number"),
    ("unigram", lambda t: t["model"]["vocab"].append(["new"]), "a piece and its score"),
    ("characters", lambda t: t["model"].update(vocab=[]), "an object of pieces and ids"),
    ("characters", lambda t: t["model"]["vocab"].pop("<s>"), "gaps or repetitions"),
]


@pytest.mark.parametrize(("kind", "change", "expected"), CHANGES, ids=range(len(CHANGES)))
def test_what_no_tokenizer_of_ours_has_is_refused(kind: str, change: Change, expected: str) -> None:
    tree = json.loads(learn(kind).to_json())
    change(tree)
    with pytest.raises(TokenError, match=expected) as caught:
        Tokenizer.from_json(json.dumps(tree))
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "{" * 100_000,
        "1" * 5_000,
        "null",
        "[]",
        '{"model": NaN}',
        '{"a": 1, "a": 2}',
        '"\ud800"',
        "1e999",
    ],
    ids=lambda text: text[:12],
)
def test_text_that_is_no_tokenizer_is_refused(text: str) -> None:
    for read in (Tokenizer.from_json, read_modality, read_target):
        with pytest.raises(TokenError, match="this is not a tokenizer file"):
            read(text)


@pytest.mark.parametrize(
    "known",
    [
        {"labels": ["a"], "counts": [0]},
        {"labels": ["a"], "counts": [1, 2]},
        {"labels": ["a", "a"], "counts": [1, 1]},
        {"labels": [1], "counts": [1]},
        {"labels": ["\ud800"], "counts": [1]},
        {"labels": ["a" * 1_000_000], "counts": [1]},
        {"labels": "ab", "counts": [1, 1]},
        {"labels": [], "counts": []},
        {"labels": ["a"], "counts": [1], "sources": 0},
        {"labels": ["a"], "counts": [1], "separator": ""},
        {"labels": ["a"], "counts": [1], "separator": 3},
        {"labels": ["a"], "counts": [10**400]},
    ],
    ids=str,
)
def test_labels_that_no_run_writes_are_refused(known: dict[str, Any]) -> None:
    with pytest.raises(TokenError, match="this is not a file of labels") as caught:
        read_target(json.dumps({"kind": "labels", "sources": 1, "separator": None, **known}))
    assert len(str(caught.value)) < 400


def test_panics_are_explained_and_interrupts_are_not() -> None:
    class PanicException(BaseException):
        """What the library raises when it panics."""

    with pytest.raises(TokenError, match=r"this fails: index out of bounds\."), explaining_failures("this fails"):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), explaining_failures("this fails"):
        raise KeyboardInterrupt
