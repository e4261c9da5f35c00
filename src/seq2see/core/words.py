"""Words of a text: what is between spaces, or single characters in scripts without spaces."""

import re
from collections.abc import Sequence
from typing import Literal

import regex

Unit = Literal["words", "characters"]
Span = tuple[int, int]  # start and end in the text

# scripts that put no spaces between words, for a class of a regular expression
UNSPACED = "".join(rf"\p{{{script}}}" for script in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"))
UNSPACED_LETTER = regex.compile(f"[{UNSPACED}]")
# what a reader takes for one character: a letter with its marks (an extended grapheme cluster, Unicode Annex 29),
# also of consonants that a virama joins, as in क्षि, which \X alone cuts; the virama of Sinhala joins with a ZWJ
VIRAMAS = "".join(map(chr, (0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xCCD, 0xD4D, 0x1039, 0x17D2, 0x1A60, 0x1B44, 0xA9C0)))
VIRAMA_OF_SINHALA, JOINER = "\u0dca", "\u200d"
JOINED = (
    rf"\p{{Lo}}(?:(?![{VIRAMAS}{VIRAMA_OF_SINHALA}])\p{{M}})*"
    rf"(?:[{VIRAMAS}]{JOINER}?|{VIRAMA_OF_SINHALA}{JOINER})(?=\p{{Lo}})"
)
CLUSTER = rf"(?:{JOINED})*\X"
GRAPHEME = regex.compile(CLUSTER)
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
    """Return the start and end of each word, or of each character with its marks; spaces belong to none.

    Args:
        text: the text that the offsets count characters of.
        unit: `words` are what is between spaces; `characters` are extended grapheme clusters.
    """
    if unit == "words":
        return [match.span() for match in re.finditer(r"\S+", text)]
    return [match.span() for match in GRAPHEME.finditer(text) if match.group().strip()]
