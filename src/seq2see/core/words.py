"""Words of a text: what is between spaces, or single characters in scripts without spaces."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal
from unicodedata import category

import regex

Unit = Literal["words", "characters"]
Span = tuple[int, int]  # start and end in the text

# scripts that put no spaces between words, for a class of a regular expression
UNSPACED = "".join(rf"\p{{{script}}}" for script in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"))
UNSPACED_LETTER = regex.compile(f"[{UNSPACED}]")
MAX_CHARACTERS_PER_SPACE = 20  # in a script with spaces between words


def choose_unit(texts: Sequence[str]) -> Unit:
    """Choose one unit for all texts of a side, so that a sentence of one word is not counted in characters.

    Args:
        texts: all sources, or all targets.

    Returns:
        Words if there is a space for every `MAX_CHARACTERS_PER_SPACE` characters, else characters.
    """
    spaces = sum(max(len(text.split()) - 1, 0) for text in texts)
    return "words" if MAX_CHARACTERS_PER_SPACE * spaces >= max(sum(map(len, texts)), 1) else "characters"


def has_spaces(texts: Sequence[str]) -> bool:
    """Tell whether at least half of the characters are of scripts with spaces between words.

    Args:
        texts: any texts; one word is enough, because only the script counts, and not the spaces themselves.
    """
    return sum(len(UNSPACED_LETTER.findall(text)) for text in texts) <= sum(map(len, texts)) / 2


def find_words(text: str, unit: Unit) -> list[Span]:
    """Return the start and end of each word, or of each character with its accents; spaces belong to none.

    Args:
        text: the text that the offsets count characters of.
        unit: `words` are what is between spaces; `characters` take the combining marks behind them along.
    """
    if unit == "words":
        return [match.span() for match in re.finditer(r"\S+", text)]
    starts = [place for place, char in enumerate(text) if not category(char).startswith("M") or not place]
    spans = pairwise([*starts, len(text)])
    return [(start, end) for start, end in spans if text[start:end].strip()]
