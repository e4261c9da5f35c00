"""Finding texts that are sequences of symbols between spaces, such as phonemes, tags or commands, and no prose."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import category

import regex

from seq2see.core.words import GRAPHEME
from seq2see.data.checks.infer import spread

MAX_COUNTED_TEXTS = 20_000  # more would give the same answer
MIN_WORDS_PER_TEXT = 2.0  # on average; one symbol is a label
MIN_OCCURRENCES = 5  # of a symbol, on average
MAX_SHARE_OF_NEW = 0.02  # of the words of further texts, as Good and Turing estimate it: those that occurred once
MAX_SYMBOLS = 2_000
MIN_SHARE_OF_SYMBOLS = 0.8  # of the words; names and dates have some that look like symbols, too
MAX_SHARE_OF_NUMBERS = 0.5  # of the words; numbers of several digits are spelled digit by digit
MAX_LETTERS_OF_CAPITALS = 4  # NN, VBZ or ADJ, and no name in capitals
MAX_SHARE_OF_DIFFERENT = 0.5  # of the words of a text, where commands come again and again
MIN_SHARE_OF_TAGGED = 0.95  # of the texts, with one tag for each word of the source
MIN_LENGTHS = 3  # different numbers of words of the sources, or as many on either side mean nothing
MIN_WORDS_PER_TAG = 3  # different words of the sources for each different tag

SYMBOL = regex.compile(
    r"[\p{P}\p{S}]+"  # a mark
    r"|[^\s\p{P}]*(?:_|[\p{L}\p{M}][=<>|/@#$:+*^~\\]|[=<>|/@#$:+*^~\\]\p{L})\S*"  # I_JUMP, <eos>, PRP$
    r"|(?=\S*\p{L})(?=\S*\p{N})[\p{L}\p{M}\p{N}]+"  # AE1
    r"|(?=\S*-)[\p{Lu}\p{N}-]+"  # B-PER
    r"|\p{Lu}+"
)


@dataclass(frozen=True)
class Symbols:
    """The symbols that the texts of a side consist of.

    Args:
        count: the number of different symbols.
        words: the number of symbols in all texts that were counted.
        some: a few of the most frequent ones.
    """

    count: int
    words: int
    some: Sequence[str]


def find_symbols(texts: Sequence[str], *, sources: Sequence[str] | None = None) -> Symbols | None:
    """Return the symbols that texts consist of; None for other texts, such as names, dates and sentences.

    The words between spaces are symbols if there are several in a text, few different ones that come again and again,
    hardly any new one, and one of these three: most do not look like words of a language; or they are tags, one for
    each word of a source; or the same ones come several times in one text, as commands do.

    Args:
        texts: all texts of a side.
        sources: the sources of these texts, if they are targets; None if they are sources themselves.
    """
    some = [text.split() for text in spread(texts, MAX_COUNTED_TEXTS)]
    counts = Counter(word for words in some for word in words)
    if not counts or not _are_closed(counts, len(some)):
        return None
    beside = [text.split() for text in spread(sources, MAX_COUNTED_TEXTS)] if sources is not None else []
    if not (_look_like_symbols(counts) or _are_prose_of_symbols(counts, some, beside)):
        return None
    return Symbols(len(counts), counts.total(), [word for word, _ in counts.most_common(2)])


def looks_like_symbol(word: str) -> bool:
    """Tell whether a word is hardly one of a language: AE1, NN, I_JUMP or B-PER, a mark, or one or two letters.

    Args:
        word: what is between spaces.
    """
    letters = len(GRAPHEME.findall(word))
    if letters == 1:
        return True
    if letters == 2 and not word.isdecimal() and not any(category(letter) == "Lo" for letter in word):
        return True
    return SYMBOL.fullmatch(word) is not None and not (word.isalpha() and letters > MAX_LETTERS_OF_CAPITALS)


def _are_closed(counts: Counter[str], texts: int) -> bool:
    """Tell whether few different words make up all texts, so that further texts will bring hardly any other."""
    words, once = counts.total(), sum(count == 1 for count in counts.values())
    few = len(counts) <= min(words / MIN_OCCURRENCES, MAX_SYMBOLS)
    return few and words >= MIN_WORDS_PER_TEXT * texts and once <= MAX_SHARE_OF_NEW * words


def _look_like_symbols(counts: Counter[str]) -> bool:
    return sum(n for word, n in counts.items() if looks_like_symbol(word)) >= MIN_SHARE_OF_SYMBOLS * counts.total()


def _are_prose_of_symbols(
    counts: Counter[str], texts: Sequence[Sequence[str]], sources: Sequence[Sequence[str]]
) -> bool:
    """Tell whether words that look like those of a language are used as tags or commands."""
    numbers = sum(count for word, count in counts.items() if word[:1].isdecimal())
    if numbers > MAX_SHARE_OF_NUMBERS * counts.total():
        return False
    if sum(len(set(words)) for words in texts) <= MAX_SHARE_OF_DIFFERENT * counts.total():
        return True
    tagged = sum(len(source) == len(words) for source, words in zip(sources, texts, strict=False))
    if tagged < MIN_SHARE_OF_TAGGED * len(texts) or len(set(map(len, sources))) < MIN_LENGTHS:
        return False
    return len({word for source in sources for word in source}) >= MIN_WORDS_PER_TAG * len(counts)
