"""Decisions for people who bring only data: tokens, model and training from the size and shape of what they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2see.config.load import read_preset

SHORT = 64  # characters; fields such as dates, names and codes are below, sentences above


@dataclass(frozen=True)
class Decision:
    """A configuration to start from, and the reason behind each choice by the key it sets."""

    base: dict[str, Any]
    remarks: dict[str, str]


def decide(source: Sequence[str], target: Sequence[str], *, preset: str | None = None) -> Decision:
    """Choose for these texts what a preset leaves open.

    A preset for words keeps all it says; one for sentences when it meets sentences, and one for short fields its size
    when it was asked for and meets short fields. Elsewhere a preset lends its architecture, and the rest follows from
    the texts.
    """
    asked, preset = preset is not None, preset or "bahdanau2015"
    written, _ = read_preset(preset)
    pairs = len(source)
    longest = _percentile([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], 0.95)
    sentences, made_for_sentences = longest > SHORT, _is_for_sentences(written)
    base: dict[str, Any] = {"preset": preset}
    remarks = {}
    if all(_name(spec) == "words" for spec in written["tokens"].values()):
        return Decision(base, {"preset": f"all as in preset {preset}, which is made for words"})
    if sentences and made_for_sentences:
        return Decision(base, {"preset": f"all as in preset {preset}, which is made for sentences"})
    tokens, remarks["tokens"] = _decide_tokens(sentences, pairs)
    joint = sentences or "joint" in written["tokens"]
    base["tokens"] = {"joint": tokens} if joint else {"source": tokens, "target": tokens}
    batch = 1024 if pairs < 5_000 else 2048 if pairs < 200_000 else 4096
    updates, epochs = _decide_updates(source, target, sentences, batch)
    base["train"] = {"updates": updates, "batch_tokens": batch, "evaluate_every": max(updates // 20, 10)}
    remarks["train"] = f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:.0f} times through the data"
    if sentences:
        base["train"] |= {"learning_rate": 0.002, "label_smoothing": 0.1, "average": 5}
    else:
        base["train"] |= {"patience": 8}
    if sentences or not asked:
        size = _decide_size(sentences, pairs)
        dropout = {"dropout": 0.3} if sentences else {}
        base["model"] = {half: _fit(written["model"][half], size, dropout) for half in ("encoder", "decoder")}
        remarks["model"] = f"preset {preset} with size {size}, for {pairs:,} pairs of {_say(sentences)}"
    return Decision(base, remarks)


def _is_for_sentences(written: Mapping[str, Any]) -> bool:
    return not all(_name(spec) == "characters" for spec in written["tokens"].values())


def _name(spec: Any) -> Any:
    """The kind of a part, whichever way it is written."""
    return spec["kind"] if isinstance(spec, Mapping) else spec


def _fit(half: Mapping[str, Any], size: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes for one half of a model, as far as it has them."""
    wanted = {"size": size, "embedding_size": size, **more}
    return {name: value for name, value in wanted.items() if name in half}


def _say(sentences: bool) -> str:
    return "sentences" if sentences else "short texts"


def _decide_size(sentences: bool, pairs: int) -> int:
    if sentences:
        return 128 if pairs < 10_000 else 256
    return 64 if pairs < 1_000 else 128 if pairs < 50_000 else 256


def _decide_tokens(sentences: bool, pairs: int) -> tuple[dict[str, Any], str]:
    if not sentences:
        return {"kind": "characters"}, f"characters, because nearly all texts have at most {SHORT} of them"
    size = 2_000 if pairs < 2_000 else 5_000 if pairs < 20_000 else 10_000
    return {"kind": "bpe", "size": size}, f"up to {size:,} subwords for both sides, because the texts are sentences"


def _decide_updates(source: Sequence[str], target: Sequence[str], sentences: bool, batch: int) -> tuple[int, float]:
    """Enough updates to see small data often and large data at least a few times."""
    letters = sum(max(len(s), len(t)) + 1 for s, t in zip(source, target, strict=True))
    tokens = letters / 4.5 if sentences else letters  # characters a subword, roughly
    seen = min(max((12 if sentences else 20) * tokens, 1_500_000), max(6_000_000, 3 * tokens))
    return int(seen / batch), seen / tokens


def _percentile(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
