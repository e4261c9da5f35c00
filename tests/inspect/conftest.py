"""Traces that the drawing tests share."""

from collections.abc import Callable

import numpy as np
import pytest

from seq2see.core.token import Token
from seq2see.inspect.attention import AttentionMap, AttentionTrace

TraceMaker = Callable[..., AttentionTrace]


def make_tokens(parts: list[str], *, sure: bool) -> tuple[Token, ...]:
    """Tokens that stand one after the other, joined by nothing."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    confidence = 0.97 if sure else None
    return tuple(Token(p, end - len(p), end, confidence) for p, end in zip(parts, ends, strict=True))


@pytest.fixture
def make_trace() -> TraceMaker:
    """Makes a trace with random weights whose rows sum to 1."""

    def make(source: list[str], target: list[str], *, heads: int = 1, maps: int = 1) -> AttentionTrace:
        random = np.random.default_rng(7)
        shape = (heads, len(target), len(source))
        draws = [random.dirichlet(np.ones(shape[2]), size=shape[:2]).astype(np.float32) for _ in range(maps)]
        return AttentionTrace(
            source="".join(source),
            target="".join(target),
            source_tokens=make_tokens(source, sure=False),
            target_tokens=make_tokens(target, sure=True),
            maps=tuple(AttentionMap(f"decoder.{place}", weights) for place, weights in enumerate(draws)),
        )

    return make


@pytest.fixture
def hand_trace() -> AttentionTrace:
    """Two by two, with weights a person can check by eye."""
    weights = np.array([[[1.0, 0.0], [0.25, 0.75]]], dtype=np.float32)
    source, target = make_tokens(["a", "b"], sure=False), make_tokens(["x", "y"], sure=True)
    return AttentionTrace("ab", "xy", source, target, (AttentionMap("attend", weights),))
