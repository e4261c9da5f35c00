"""The label of a token: its text, with visible signs for spaces and control characters."""

import unicodedata
from collections.abc import Iterable, Sequence

from seq2see.core.token import Token

# Control characters get symbols of their own (U+2400 and on): a newline shows as ␊ and cannot break a layout.
MARKS = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "␡", " ": "␣", "\u00a0": "⍽"}
EMPTY = "∅"
EMPTY_INPUT = "(empty input)"  # in place of a label, which an empty input does not get
UNKNOWN_MARK = "⁇"  # before an unknown token, where there may be no colours
UNKNOWN_NOTE = "Not in the vocabulary of the run, which reads each as the same unknown token"
_JOINERS = "\u200c\u200d"  # Persian and Hindi spelling and emoji need them, so they are text and not controls
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")


def show_text(text: str) -> str:
    """Return the text with visible signs for spaces and control characters; a text with nothing to see becomes ∅.

    Args:
        text: the text of a token or word.
    """
    shown = (MARKS.get(char, char) for char in text)
    kept = "".join(c for c in shown if c in _JOINERS or unicodedata.category(c) not in _CONTROLS)
    return kept.strip(_JOINERS) or EMPTY


def show_label(label: str) -> str:
    """Return the label of a class with visible signs for control characters; spaces stay spaces.

    Args:
        label: the label; empty for an input that got none.
    """
    return show_text(label).replace(MARKS[" "], " ") if label else EMPTY_INPUT


def label_token(token: Token) -> str:
    """Return what is shown of a token: its text with visible signs, behind a mark if the vocabulary lacks it.

    Args:
        token: the token.
    """
    return (UNKNOWN_MARK if token.unknown else "") + show_text(token.text)


def list_unknown(tokens: Iterable[Token]) -> str:
    """Return a sentence that names the unknown tokens, each once; empty if there are none.

    Args:
        tokens: the tokens of a source.
    """
    found = dict.fromkeys(repr(show_text(token.text)) for token in tokens if token.unknown)
    return f"{UNKNOWN_NOTE}: {', '.join(found)}" if found else ""


def split_clusters(text: str) -> list[str]:
    """Return the grapheme clusters of a text: what a reader takes for one character.

    Args:
        text: any text; a letter with its combining marks, an emoji with its modifiers and a flag are one cluster each.
    """
    clusters: list[str] = []
    for char in text:
        if clusters and _continues(clusters[-1], char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def are_characters(tokens: Sequence[Token]) -> bool:
    """Tell whether every token is at most one character, as with a character tokenizer.

    Args:
        tokens: the tokens of a text; special tokens, such as the end of text, do not count.
    """
    return all(len(split_clusters(token.text)) <= 1 for token in tokens if token.start != token.end)


def shorten(label: str, *, limit: int) -> str:
    """Return the label, cut if it is long.

    Args:
        label: the label.
        limit: the most characters (grapheme clusters) that it may have, the … of a cut label included.
    """
    clusters = split_clusters(label)
    return label if len(clusters) <= limit else "".join(clusters[: limit - 1]) + "…"


def _continues(cluster: str, char: str) -> bool:
    if unicodedata.category(char).startswith("M") or char in _JOINERS or "🏻" <= char <= "🏿":
        return True
    flag = _is_regional(char) and _is_regional(cluster) and len(cluster) == 1
    return flag or (cluster[-1] == "\u200d" and unicodedata.category(char) == "So")


def _is_regional(char: str) -> bool:
    return "🇦" <= char[0] <= "🇿"
