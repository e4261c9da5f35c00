"""Decisions for people who bring only data: tokens, model and training from the size and shape of what they have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHORT = 64  # characters; fields such as dates, names and codes are below, sentences above


@dataclass(frozen=True)
class Decision:
    """A configuration to start from, and the reason behind each choice by the key it sets."""

    base: dict[str, Any]
    remarks: dict[str, str]


def decide(source: Sequence[str], target: Sequence[str], *, preset: str | None = None) -> Decision:
    """Choose for these texts; a preset that was asked for keeps the sizes it was written with."""
    pairs = len(source)
    longest = _percentile([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], 0.95)
    tokens, why_tokens = _decide_tokens(longest, pairs)
    size = 64 if pairs < 1_000 else 128 if pairs < 50_000 else 256
    batch = 1024 if pairs < 5_000 else 2048 if pairs < 200_000 else 4096
    updates, epochs = _decide_updates(source, target, tokens["kind"], batch)
    sizes = {"size": size, "embedding_size": size}
    base = {
        "preset": "bahdanau2015",
        "tokens": {"source": tokens, "target": tokens},
        "model": {"encoder": sizes, "decoder": sizes},
        "train": {"updates": updates, "batch_tokens": batch, "evaluate_every": max(updates // 20, 10), "patience": 8},
    }
    remarks = {
        "tokens": why_tokens,
        "model": f"preset bahdanau2015 with size {size}, for {pairs:,} pairs",
        "train": f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:.0f} times through the data",
    }
    if preset is not None:
        base = {**base, "preset": preset}
        del base["model"], remarks["model"]
    return Decision(base, remarks)


def _decide_tokens(longest: int, pairs: int) -> tuple[dict[str, Any], str]:
    if longest <= SHORT:
        return {"kind": "characters"}, f"characters, because nearly all texts have at most {SHORT} of them"
    size = 1_000 if pairs < 2_000 else 4_000 if pairs < 20_000 else 8_000
    return {"kind": "bpe", "size": size}, f"up to {size:,} subwords a side, because the texts are sentences"


def _decide_updates(source: Sequence[str], target: Sequence[str], kind: str, batch: int) -> tuple[int, float]:
    """Enough updates to see small data often and large data at least a few times."""
    letters = sum(max(len(s), len(t)) + 1 for s, t in zip(source, target, strict=True))
    tokens = letters if kind == "characters" else letters / 4.5  # characters a subword, roughly
    seen = min(max(20 * tokens, 1_500_000), max(6_000_000, 3 * tokens))
    return int(seen / batch), seen / tokens


def _percentile(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
