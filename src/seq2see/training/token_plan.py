"""Decisions about tokens: what the texts of each side are divided into, and how many tokens they then have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from seq2see.core.words import has_spaces
from seq2see.data.checks.infer import spread
from seq2see.data.checks.symbols import Symbols, find_symbols

MAX_FIELD_LENGTH = 64  # characters; fields such as dates, names and codes are below, sentences above

Kind = Literal["characters", "words", "bpe"]


@dataclass(frozen=True)
class TokenPlan:
    """What texts are divided into.

    Args:
        source: the kind of the tokens of sources.
        target: the kind of the tokens of targets.
        tokens: how many tokens the longer sides of all pairs have, roughly.
        reason: why symbols are words, and what the other side is; empty if no side consists of symbols.
    """

    source: Kind
    target: Kind
    tokens: float
    reason: str = ""

    @property
    def symbols(self) -> bool:
        """Whether a side consists of symbols between spaces, such as phonemes or tags."""
        return "words" in (self.source, self.target)

    @property
    def sentences(self) -> bool:
        """Whether the pairs are sentences, both sides of which have subwords of one vocabulary."""
        return self.source == self.target == "bpe"

    def describe(self, pairs: int) -> dict[str, object]:
        """Return the sections `source` and `target`, each with its tokens.

        Args:
            pairs: the number of pairs, which says how many subwords can be learned.
        """
        return {"source": describe_kind(self.source, pairs), "target": describe_kind(self.target, pairs)}


def plan_tokens(source: Sequence[str], target: Sequence[str]) -> TokenPlan:
    """Choose words for a side of symbols; else subwords if the texts are sentences, and characters if they are fields.

    Args:
        source: all sources.
        target: all targets.
    """
    symbols = find_symbols(source), find_symbols(target, sources=source)
    if symbols == (None, None):
        kind: Kind = "bpe" if are_sentences(source, target) else "characters"
        return TokenPlan(kind, kind, count_tokens(source, target, kinds=(kind, kind)))
    kinds = (_choose_kind(source, symbols[0]), _choose_kind(target, symbols[1]))
    titles = zip(("sources", "targets"), kinds, symbols, strict=True)
    reason = "; ".join(f"{kind} for {side}{_explain(found)}" for side, kind, found in titles)
    return TokenPlan(*kinds, count_tokens(source, target, kinds=kinds), reason.replace("bpe", "subwords"))


def are_sentences(source: Sequence[str], target: Sequence[str]) -> bool:
    """Tell whether more than a few texts are longer than fields are.

    Args:
        source: all sources.
        target: the target of each source.
    """
    return percentile([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], 0.95) > MAX_FIELD_LENGTH


def describe_kind(kind: Kind, pairs: int) -> dict[str, object]:
    """Return the tokens of a side, or of both, as a configuration names them.

    Args:
        kind: the kind of the tokens.
        pairs: the number of pairs, which says how many subwords can be learned.
    """
    size = 2_000 if pairs < 2_000 else 5_000 if pairs < 50_000 else 10_000
    options: dict[Kind, dict[str, object]] = {"characters": {}, "words": {"min_count": 1}, "bpe": {"size": size}}
    return {"kind": kind, **options[kind]}


def count_tokens(source: Sequence[str], target: Sequence[str], *, kinds: tuple[Kind, Kind]) -> float:
    """Return how many tokens the longer sides have, roughly.

    Args:
        source: all sources.
        target: the target of each source.
        kinds: the kind of the tokens of either side.
    """
    measures = _measure_of(source, kinds[0]), _measure_of(target, kinds[1])
    return float(sum(max(measures[0](s), measures[1](t)) for s, t in zip(source, target, strict=True)))


def percentile(values: Sequence[int], share: float) -> int:
    """Return the value that this share of all values is below.

    Args:
        values: any numbers; at least one.
        share: a share from 0 to 1.
    """
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _choose_kind(texts: Sequence[str], symbols: Symbols | None) -> Kind:
    if symbols is not None:
        return "words"
    return "bpe" if are_sentences(texts, texts) else "characters"


def _explain(symbols: Symbols | None) -> str:
    if symbols is None:
        return ""
    return f", because {symbols.count:,} different ones, such as {' and '.join(symbols.some)}, come again and again"


def _measure_of(texts: Sequence[str], kind: Kind) -> Callable[[str], float]:
    """Return what counts the tokens of a text, the end mark included."""
    if kind == "words":
        return lambda text: len(text.split()) + 1
    letters = 1.0 if kind == "characters" else 4.5 if has_spaces(spread(texts)) else 1.5  # of a subword
    return lambda text: (len(text) + 1) / letters
