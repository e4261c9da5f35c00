"""A token's label: its text with everything invisible made visible."""

import unicodedata
from collections.abc import Sequence

from seq2see.core.token import Token

# Control characters get symbols of their own (U+2400 and on): a newline shows as ␊ and cannot break a layout.
MARKS = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "␡", " ": "␣", "\u00a0": "⍽"}
EMPTY = "∅"
_JOINERS = "\u200c\u200d"  # Persian and Hindi spelling and emoji need them, so they are text and not controls
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")


def show_text(text: str) -> str:
    """Return the text with visible spaces and without control characters, never empty."""
    shown = (MARKS.get(char, char) for char in text)
    kept = "".join(c for c in shown if c in _JOINERS or unicodedata.category(c) not in _CONTROLS)
    return kept.strip(_JOINERS) or EMPTY


def split_clusters(text: str) -> list[str]:
    """Return the grapheme clusters of a text: a base character with its marks, or one emoji."""
    clusters: list[str] = []
    for char in text:
        if clusters and _continues(clusters[-1], char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def are_characters(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are single letters; marks such as the end of text do not count."""
    return all(len(split_clusters(token.text)) <= 1 for token in tokens if token.start != token.end)


def shorten(label: str, *, limit: int) -> str:
    """Return the label with at most `limit` letters; … marks what is left out."""
    clusters = split_clusters(label)
    return label if len(clusters) <= limit else "".join(clusters[: limit - 1]) + "…"


def _continues(cluster: str, char: str) -> bool:
    if unicodedata.category(char).startswith("M") or char in _JOINERS or "🏻" <= char <= "🏿":
        return True
    flag = _is_regional(char) and _is_regional(cluster) and len(cluster) == 1
    return flag or (cluster[-1] == "\u200d" and unicodedata.category(char) == "So")


def _is_regional(char: str) -> bool:
    return "🇦" <= char[0] <= "🇿"
