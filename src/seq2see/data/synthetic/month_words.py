"""The words for each month in all locales, and what their looser spellings have in common."""

import re
import unicodedata
from functools import cache

from babel import Locale

from seq2see.data.synthetic import date_locales

MonthWords = tuple[tuple[str, ...], ...]  # of each month, the words for it

# The marks of Latin, Greek and Arabic are often left out, but a Cyrillic й without its breve is another letter.
_MARKS = re.compile("(?<![\u0400-\u04ff])[\u0300-\u036f\u0653-\u0655]")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d", "Ł": "L", "Ø": "O", "Đ": "D"})
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


@cache
def list_month_words() -> dict[str, int]:
    """Map every month word, folded, to its month, leaving out the words that two locales use for two months."""
    meanings: dict[str, set[int]] = {}
    for locale in date_locales.LOCALES:
        for months in read_months(locale).values():
            for month, words in enumerate(months, start=1):
                for word in (*words, *(w.translate(UMLAUTS) for w in words)):
                    meanings.setdefault(fold_word(word), set()).add(month)
    return {word: min(months) for word, months in meanings.items() if len(months) == 1}


def fold_word(word: str) -> str:
    """Reduce a word to what its looser spellings have in common: lower case without accents and dots.

    Args:
        word: a word of a date.
    """
    return re.sub("[.॰]", "", drop_accents(word.casefold()))


@cache
def read_months(locale: str) -> dict[str, MonthWords]:
    """Return the words of each month by CLDR's fields MMMM, LLLL, MMM and LLL.

    Args:
        locale: one of `date_locales.LOCALES`.
    """
    names, language = Locale.parse(locale).months, locale.partition("_")[0]
    months: list[MonthWords] = []
    for month in range(1, 13):
        wide, short = (names["format"][width][month] for width in ("wide", "abbreviated"))
        more = (date_locales.MORE_SHORT[language, month],) if (language, month) in date_locales.MORE_SHORT else ()
        dotted = [f"{w}." for w in (short, *more) if language in date_locales.DOTTED and len(w) < len(wide)]
        wide_alone = names["stand-alone"]["wide"][month] if locale in date_locales.OWN_WIDE else wide
        short_alone = names["stand-alone"]["abbreviated"][month] if locale in date_locales.OWN_SHORT else short
        bare = tuple(w.rstrip(".") for w in (short_alone, *more))
        months.append(((wide,), (wide_alone,), (short, *more, *dotted), bare))
    return dict(zip(("MMMM", "LLLL", "MMM", "LLL"), zip(*months, strict=True), strict=True))


def drop_accents(text: str) -> str:
    """Return a text without the marks of Latin, Greek and Arabic, and with plain letters for ł, ø, ı and đ.

    Args:
        text: any text.
    """
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text))).translate(_LETTERS)
