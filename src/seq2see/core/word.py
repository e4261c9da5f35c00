"""Words as people count them: what stands between spaces, or single characters where nobody writes spaces."""

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
LETTER = regex.compile(f"[{UNSPACED}]")  # of such a script
SPARSE = 20  # a script that writes spaces between words has one for every so many characters, and mostly more


def choose_unit(texts: Sequence[str]) -> Unit:
    """One unit for all texts of a side, so that a sentence of one word is not suddenly counted in characters."""
    spaces = sum(max(len(text.split()) - 1, 0) for text in texts)
    return "words" if SPARSE * spaces >= max(sum(map(len, texts)), 1) else "characters"


def has_spaces(texts: Sequence[str]) -> bool:
    """Whether most letters are of scripts that put spaces between words, be there one word or many."""
    return sum(len(LETTER.findall(text)) for text in texts) <= sum(map(len, texts)) / 2


def find_words(text: str, unit: Unit) -> list[Span]:
    """Where each word, or each character with its accents, begins and ends; spaces belong to none."""
    if unit == "words":
        return [match.span() for match in re.finditer(r"\S+", text)]
    starts = [place for place, char in enumerate(text) if not category(char).startswith("M") or not place]
    spans = pairwise([*starts, len(text)])
    return [(start, end) for start, end in spans if text[start:end].strip()]
