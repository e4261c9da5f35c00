"""The content of a tokenizer's file: only the parts that our own tokenizers have.

A file may come from a stranger, and the library that reads it trusts it: padding to three billion tokens, a chain of
replacements that doubles a text each time, or a regular expression that never ends are all valid there. So everything
is checked here first, unless the user trusts the run: a plug-in's tokenizer may have any part of the library.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from seq2see.core.errors import TokenError
from seq2see.core.json_text import read_json
from seq2see.core.registry import shorten
from seq2see.core.special_tokens import SPECIAL_TOKENS, UNKNOWN
from seq2see.core.trust import is_trusting
from seq2see.core.unicode import is_text
from seq2see.core.words import CLUSTER

MAX_PARTS = 16  # in a sequence
MAX_PATTERN = 1_000  # characters
MAX_PIECE = 10_000  # characters
SIMPLE_NORMALIZERS = ("NFC", "NFKC", "Lowercase")
EMPTY_SECTIONS = ("truncation", "padding", "post_processor", "decoder")
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
# options of a model that must have these values
PLAIN_BPE = {
    "dropout": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "byte_fallback": False,
    "ignore_merges": False,
}

CLASS = r"\[(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\])*\]"  # [a-z], [\w&&[^x]]
ATOM = rf"(?:{CLASS}|\\[pP]\{{\w+\}}|\\[sSwWdD]|\\[^\w]|[^\\\[\](){{}}|*+?])"
# atoms with *, + or ?; groups are never repeated, so that no repetition is inside another
SEQUENCE = rf"(?:{ATOM}[*+?]?)*"
ALTERNATIVES = rf"{SEQUENCE}(?:\|{SEQUENCE})*"
GROUP = rf"\(\?(?::|=|!|<=|<!){ALTERNATIVES}\)"
PATTERN = re.compile(rf"(?:{ATOM}[*+?]?|{GROUP}|\|)*")
# ours that repeat more, and are quick: what is repeated has no character in common with what comes behind it
QUICK_PATTERNS = (r"\s*\p{P}+(?!\w)", CLUSTER)


def read_tokenizer_tree(text: str | bytes) -> dict[str, Any]:
    """Return the content of a tokenizer's file, checked part by part.

    Args:
        text: the content of the file.

    Raises:
        TokenError: it is no JSON, or has a part or a value that no tokenizer of ours has and the run is not trusted.
    """
    try:
        tree = read_json(text)
    except ValueError as error:
        raise TokenError(f"this is not a tokenizer file: {shorten(str(error))[1:-1]}.") from None
    if not is_trusting():
        check_tokenizer_tree(tree)
    checked: dict[str, Any] = tree
    return checked


def check_tokenizer_tree(tree: object) -> None:
    """Refuse the content of a tokenizer's file if it has anything that no tokenizer of ours has.

    Args:
        tree: the content as dicts and lists.

    Raises:
        TokenError: with the part or value that is refused.
    """
    known = {"version", "added_tokens", "normalizer", "pre_tokenizer", "model", *EMPTY_SECTIONS}
    content = _read_object(tree, "the file", known)
    for name in EMPTY_SECTIONS:
        _require(content.get(name) is None, f"{name} must be null", content.get(name))
    vocabulary = check_model(content.get("model"))
    tokens = content.get("added_tokens", [])
    expected = [{"id": number, "content": mark, **FLAGS} for number, mark in enumerate(SPECIAL_TOKENS)]
    _require(tokens in ([], expected), "added_tokens must be none or the special tokens", tokens)
    for number, mark in enumerate(SPECIAL_TOKENS):
        _require(vocabulary.get(mark) == number, f"a vocabulary must start with {', '.join(SPECIAL_TOKENS)}", None)
    _check_sequence(content.get("normalizer"), "normalizer", "normalizers", _check_normalizer)
    _check_sequence(content.get("pre_tokenizer"), "pre_tokenizer", "pretokenizers", _check_pre_tokenizer)


def check_model(model: object) -> Mapping[str, int]:
    """Return the vocabulary of a model, the id of every piece.

    Args:
        model: section `model` of the file.

    Raises:
        TokenError: the model is none of ours, or ids, merges or scores do not fit each other.
    """
    kind = model.get("type") if isinstance(model, dict) else None
    _require(isinstance(kind, str) and kind in MODELS, f"model must be one of {', '.join(MODELS)}", kind)
    checked: Mapping[str, int] = MODELS[str(kind)](model)
    if sorted(checked.values()) != list(range(len(checked))):
        raise TokenError("the ids of a vocabulary must be 0, 1, 2 and so on; got gaps or repetitions.")
    return checked


def _check_word_level(model: object) -> Mapping[str, int]:
    content = _read_object(model, "model", {"type", "vocab", "unk_token"})
    _require(content.get("unk_token") == SPECIAL_TOKENS[UNKNOWN], "unk_token must be <unk>", content.get("unk_token"))
    return _check_ids(content.get("vocab"))


def _check_bpe(model: object) -> Mapping[str, int]:
    content = _read_object(model, "model", {"type", "vocab", "unk_token", "merges", "fuse_unk", *PLAIN_BPE})
    _require(content.get("unk_token") == SPECIAL_TOKENS[UNKNOWN], "unk_token must be <unk>", content.get("unk_token"))
    _require(isinstance(content.get("fuse_unk", False), bool), "fuse_unk must be true or false", content["fuse_unk"])
    for name, value in PLAIN_BPE.items():
        _require(content.get(name, value) is value, f"{name} must be {value}", content.get(name))
    vocabulary, merges = _check_ids(content.get("vocab")), content.get("merges")
    _require(isinstance(merges, list), "merges must be a list", merges)
    for merge in merges or ():
        pair = merge.split(" ") if isinstance(merge, str) else merge
        fits = isinstance(pair, list) and len(pair) == 2 and all(isinstance(piece, str) and piece for piece in pair)
        _require(fits and {*pair, "".join(pair)} <= vocabulary.keys(), "a merge must be two pieces", merge)
    return vocabulary


def _check_unigram(model: object) -> Mapping[str, int]:
    content = _read_object(model, "model", {"type", "vocab", "unk_id", "byte_fallback"})
    _require(content.get("unk_id") == UNKNOWN, f"unk_id must be {UNKNOWN}", content.get("unk_id"))
    _require(content.get("byte_fallback", False) is False, "byte_fallback must be false", content.get("byte_fallback"))
    rows = content.get("vocab")
    _require(isinstance(rows, list), "vocab must be a list", rows)
    vocabulary: dict[str, int] = {}
    for number, row in enumerate(rows or ()):
        _require(isinstance(row, list) and len(row) == 2, "an entry of vocab must be a piece and its score", row)
        piece, score = row
        _require(_is_piece(piece), "a piece must be a text", piece)
        right = isinstance(score, int | float) and not isinstance(score, bool)
        _require(right and math.isfinite(score) and abs(score) < 1e9, "a score must be a number", score)
        _require(piece not in vocabulary, "a piece must occur once", piece)
        vocabulary[piece] = number
    return vocabulary


MODELS: dict[str, Callable[[object], Mapping[str, int]]] = {
    "WordLevel": _check_word_level,
    "BPE": _check_bpe,
    "Unigram": _check_unigram,
}


def _check_ids(vocabulary: object) -> Mapping[str, int]:
    _require(isinstance(vocabulary, dict), "vocab must be an object of pieces and ids", vocabulary)
    known: dict[str, int] = dict(vocabulary) if isinstance(vocabulary, dict) else {}
    for piece, number in known.items():
        _require(_is_piece(piece), "a piece must be a text", piece)
        _require(type(number) is int, "an id must be a whole number", number)
    return known


def _is_piece(piece: object) -> bool:
    return isinstance(piece, str) and 0 < len(piece) <= MAX_PIECE and is_text(piece)


def _check_sequence(
    given: object, name: str, key: str, check: Callable[[dict[str, Any]], None], depth: int = 0
) -> None:
    """Check a part, or all parts of a sequence of them."""
    kind = given.get("type") if isinstance(given, dict) else None
    if kind != "Sequence":
        check(_read_object(given, name, None))
        return
    content = _read_object(given, name, {"type", key})
    parts = content.get(key)
    _require(isinstance(parts, list) and len(parts) <= MAX_PARTS and depth < 3, f"{name} has too many parts", None)
    for each in parts or ():
        _check_sequence(each, name, key, check, depth + 1)


def _check_normalizer(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if kind == "Prepend":
        _require(part.keys() <= {"type", "prepend"} and _is_mark(part.get("prepend")), "Prepend puts a mark", part)
    elif kind == "Replace":
        _require(part.keys() <= {"type", "pattern", "content"}, "Replace has a pattern and its content", part)
        _require(part.get("content") == "", "Replace must remove what it finds", part.get("content"))
        _check_pattern(part.get("pattern"))
    else:
        known = ", ".join([*SIMPLE_NORMALIZERS, "Prepend", "Replace"])
        _require(kind in SIMPLE_NORMALIZERS and part.keys() == {"type"}, f"a normalizer must be one of {known}", kind)


def _check_pre_tokenizer(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if kind == "Metaspace":
        fits = part.keys() <= {"type", "replacement", "prepend_scheme", "split"} and _is_mark(part.get("replacement"))
        fits = fits and part.get("prepend_scheme") == "never" and isinstance(part.get("split", True), bool)
        _require(fits, "Metaspace puts a mark for each space", part)
        return
    _require(kind == "Split", "a pre_tokenizer must be Metaspace or Split", kind)
    _require(part.keys() <= {"type", "pattern", "behavior", "invert"}, "Split has a pattern", part)
    _require((part.get("behavior"), part.get("invert")) == ("Isolated", False), "Split must isolate", part)
    _check_pattern(part.get("pattern"))


def _check_pattern(pattern: object) -> None:
    """Refuse a regular expression that may take long: one that is long, or repeats a group."""
    text = pattern.get("Regex") if isinstance(pattern, dict) and len(pattern) == 1 else None
    _require(isinstance(text, str) and len(text) <= MAX_PATTERN, "a pattern must be a short regular expression", text)
    _require(_is_quick(str(text)), "a regular expression must repeat one thing an alternative, and no group", text)


def _is_quick(pattern: str) -> bool:
    if pattern in QUICK_PATTERNS:
        return True
    if not pattern or PATTERN.fullmatch(pattern) is None:
        return False
    bare = re.sub(rf"{CLASS}|\\.", "x", pattern)
    return all(len(re.findall("[*+]", alternative)) <= 1 for alternative in bare.split("|"))


def _is_mark(given: object) -> bool:
    return isinstance(given, str) and len(given) == 1 and is_text(given)


def _read_object(given: object, name: str, known: set[str] | None) -> dict[str, Any]:
    _require(isinstance(given, dict), f"{name} must be an object", given)
    content: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    extra = [] if known is None else sorted(content.keys() - known)
    _require(not extra, f"{name} must have no other keys than {', '.join(sorted(known or ()))}", extra[:3])
    return content


def _require(fits: bool, rule: str, got: object) -> None:
    if not fits:
        found = "" if got is None else f"; got {shorten(got)}"
        raise TokenError(f"this is not a tokenizer file of seq2see: {rule}{found}.")
