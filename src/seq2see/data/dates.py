"""Dates as people write them in 44 locales, each paired with its ISO form."""

import datetime
import re
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from random import Random

Pair = tuple[str, str]

_FIRST, _LAST = datetime.date(1950, 1, 1), datetime.date(2050, 12, 31)
_MOST_PER_DAY = 50  # far below the ways to write one day, so that drawing unseen strings stays quick

# How often each locale writes, in thousandths: English, which most people will try, has 400.
_SHARES = {
    name: int(share)
    for name, share in re.findall(
        r"(\w+):(\d+)",
        """
        en_US:170 en_GB:120 en_AU:40 en_IN:35 en_CA:35 de:60 de_AT:12 fr:60 fr_CA:12 es:60 es_MX:14 it:40
        pt:20 pt_BR:26 nl:34 sv:14 da:10 nb:10 fi:9 pl:16 cs:10 sk:6 sl:6 hr:6 ro:9 hu:9 bg:6 el:9 tr:12
        ru:20 uk:10 ca:8 id:12 vi:9 ja:18 zh_Hans:18 zh_Hant:8 ko:12 hi:10 ar:10 fa:5 he:5 de_CH:8 fr_CH:4
        """,
    )
}
LOCALES = tuple(_SHARES)

_SKELETONS = ("yMMMd", "yMMMMd", "yMMMEd", "yMMMMEd", "yMMMMEEEEd", "yMd", "yMEd")

# A template names its fields as CLDR does; {th} is the day as an ordinal, {LLL} a month short and undotted.
_INFORMAL = """
en | {th} of {MMMM} {y} | the {th} of {MMMM}, {y} | the {th} of {MMMM} {y} | {th} {MMMM} {y} | {MMMM} {th} {y}
en | {MMMM} {th}, {y} | {MMMM} the {th} {y} | {MMMM} the {th}, {y} | {EEEE} the {th} of {MMMM} {y}
en | {EEEE}, {MMMM} {th}, {y} | {MMMM} {d} {y} | {MMMM} {d}, {y} | {d} {MMMM} {y} | {d} {MMMM}, {y}
en | {d} of {MMMM} {y} | {E} {d} {MMM} {y} | {E} {MMM} {d} {y} | {E}, {d} {MMM} {y} | on {MMMM} {d}, {y}
en | {MMM} {d} {y} | {d} {MMM} {y} | {y} {MMMM} {d} | {y}, {MMMM} {d}
de | am {d}. {MMMM} {y} | den {d}. {MMMM} {y} | der {d}. {MMMM} {y} | {EEEE}, den {d}. {MMMM} {y}
de | {E} {d}. {MMM} {y} | {d}. {LLL} {y} | {d}.{MMMM} {y}
fr | le {d} {MMMM} {y} | le {EEEE} {d} {MMMM} {y} | {th} {MMMM} {y} | le {th} {MMMM} {y} | {d} {LLL} {y}
es | el {d} de {MMMM} de {y} | {d} de {MMMM} del {y} | {d} de {MMMM}, {y} | {th} de {MMMM} de {y} | {d} {MMMM} {y}
es | {EEEE} {d} de {MMMM} de {y} | {d} de {MMM} de {y} | el {EEEE} {d} de {MMMM} de {y} | {MMMM} {d}, {y}
it | il {d} {MMMM} {y} | {th} {MMMM} {y} | il {th} {MMMM} {y} | {d} {MMMM} del {y} | {EEEE}, {d} {MMMM} {y}
pt | {d} {MMMM} {y} | em {d} de {MMMM} de {y} | dia {d} de {MMMM} de {y} | {th} de {MMMM} de {y} | {d} {LLL} {y}
nl | op {d} {MMMM} {y} | {EEEE}, {d} {MMMM} {y} | de {d}e {MMMM} {y}
sv | den {d} {MMMM} {y} | {EEEE} den {d} {MMMM} {y} | den {th} {MMMM} {y} | {th} {MMMM} {y}
da | den {d}. {MMMM} {y} | d. {d}. {MMMM} {y}
nb | den {d}. {MMMM} {y} | {EEEE} den {d}. {MMMM} {y}
pl | {d} {MMMM} {y} r. | {d} {MMMM} {y} roku | dnia {d} {MMMM} {y} r.
cs | dne {d}. {MMMM} {y} | {d}. {MMMM} roku {y}
sk | dňa {d}. {MMMM} {y} | {d}. {MMMM} roku {y}
sl | dne {d}. {MMMM} {y} | {d}. {MMMM} leta {y}
ro | pe {d} {MMMM} {y} | în {d} {MMMM} {y} | {EEEE} {d} {MMMM} {y}
hu | {y} {MMMM} {d} | {y}. {MMM} {d} | {y}.{MM}.{dd}.
bg | {d} {MMMM} {y} | {d} {MMMM} {y} година | на {d} {MMMM} {y} г.
el | στις {d} {MMMM} {y} | {EEEE}, {d} {MMMM} {y}
ru | {d} {MMMM} {y} | {d} {MMMM} {y} года | {EEEE} {d} {MMMM} {y} | {d} {LLL} {y}
uk | {d} {MMMM} {y} | {d} {MMMM} {y} року | {EEEE} {d} {MMMM} {y}
ca | el {d} {MMMM} de {y} | {d} {MMMM} de {y} | {EEEE} {d} {MMMM} de {y}
id | tanggal {d} {MMMM} {y} | tgl {d} {MMMM} {y} | {EEEE} {d} {MMMM} {y}
vi | ngày {d} {MMMM} năm {y} | {d} {MMMM} năm {y} | {EEEE}, ngày {d} {MMMM} năm {y}
ja | {y}年{MM}月{dd}日 | {y}年 {M}月 {d}日 | {y}年{M}月{d}日（{E}） | {y} 年 {M} 月 {d} 日
zh_Hans | {y}年{MM}月{dd}日 | {y}年{M}月{d}号 | {y}年{M}月{d}日（{E}） | {y} 年 {M} 月 {d} 日
zh_Hant | {y}年{MM}月{dd}日 | {y}年{M}月{d}號 | {y} 年 {M} 月 {d} 日
ko | {y}년 {M}월 {d}일 | {y}년{M}월{d}일 | {y}년 {MM}월 {dd}일 | {y}년{M}월{d}일 {EEEE}
ar | {EEEE} {d} {MMMM} {y} | يوم {EEEE} {d} {MMMM} {y}
"""
_COMPACT = ["{d}-{LLL}-{y}", "{dd}-{LLL}-{y}", "{dd}/{LLL}/{y}", "{d}/{LLL}/{y}", "{d}{LLL}{y}", "{dd}{LLL}{y}", "{y}-{LLL}-{dd}"]
_COMPACT_LOCALES = ["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "pl", "cs", "sk", "sl", "hr", "ro", "el", "tr", "ru", "uk", "bg", "ca", "id"]
_YEAR_FIRST = tuple(f"{{y}}{s}{{{m}}}{s}{{{d}}}" for s in "-/." for m, d in (("MM", "dd"), ("M", "d")))
_KIND_SHARES = (45, 30, 9, 16)  # CLDR's own, informal, compact, numeric

# Babel lends one locale's inherited stand-alone names to the next, so only locales that own theirs are asked.
_STANDALONE = {"wide": ["fi", "pl", "cs", "sk", "hr", "el", "ru", "uk", "ca", "fa"], "abbreviated": ["de", "de_AT", "nb", "el", "ru", "ca"]}
_MORE_WORDS: dict[str, dict[int, str]] = {
    "en": {6: "June", 7: "July", 9: "Sep Sept"},
    "de": {3: "Mrz"},
    "fr": {2: "fév", 7: "juil juill"},
    "es": {9: "sep set"},
    "it": {9: "sett"},
    "sv": {3: "mar", 6: "jun", 7: "jul"},
    "ru": {2: "фев", 9: "сен", 11: "ноя"},
}
_DOTTED = ("en", "es", "it", "nl")  # CLDR has their short months without the dot that people often write

_FULL_WIDTH = "０１２３４５６７８９"
_DIGITS = {"ar": ("٠١٢٣٤٥٦٧٨٩", 0.5), "fa": ("۰۱۲۳۴۵۶۷۸۹", 0.7), "hi": ("०१२३४५६७८९", 0.3)}
_DIGITS |= dict.fromkeys(("ja", "zh_Hans", "zh_Hant"), (_FULL_WIDTH, 0.1))

# A Cyrillic й without its breve is another letter; Latin, Greek and Arabic marks are the ones people leave out.
_MARKS = re.compile("(?<![\u0400-\u04ff])[\u0300-\u036f\u0653-\u0655]")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "Ł": "L", "Ø": "O", "ß": "ss"})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})

# Chance, pattern, replacement. No edit may join two numbers or part a number.
_EDITS = tuple(
    (chance, re.compile(old), new)
    for chance, old, new in (
        (0.15, r"[,،] ?", " "),
        (0.02, r",", ",,"),
        (0.04, r"(?<=,) ", ""),
        (0.25, r"(?<=[^\W\d])[.॰](?=\W|$)", ""),
        (0.12, r"(?<=\d)\.(?= ?[^\W\d])", ""),
        (0.04, r"(?<=\d\.) (?=[^\W\d])", ""),
        (0.02, r"(?<=\d) (?=[^\W\d]{3})|(?<=[^\W\d]{3}) (?=\d)", ""),
    )
)
_BLANKS = ((0.025, " ", "  "), (0.008, " ", "\u00a0"), (0.003, " ", "\t"))


@dataclass(frozen=True)
class DateSplits:
    """Pairs (written, ISO), no day and no string of which is in two splits."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


@dataclass(frozen=True)
class _Writer:
    """How the people of one locale write: templates by kind, month words by field and month, weekdays."""

    locale: str
    kinds: tuple[tuple[str, ...], ...]
    months: dict[str, tuple[tuple[str, ...], ...]]
    weekdays: dict[str, tuple[str, ...]]
    opens_with_weekday: bool


def make_dates(*, train: int, valid: int, test: int, seed: int) -> DateSplits:
    """Write each split's dates from its own tenth (valid, test) or eight tenths (train) of the days."""
    days = [_FIRST + datetime.timedelta(n) for n in range((_LAST - _FIRST).days + 1)]
    Random(seed).shuffle(days)
    tenth = len(days) // 10
    meanings: dict[str, str] = {}
    return DateSplits(
        train=_write_split("train", days[2 * tenth :], train, seed, meanings),
        valid=_write_split("valid", days[:tenth], valid, seed, meanings),
        test=_write_split("test", days[tenth : 2 * tenth], test, seed, meanings),
    )


def write_date(day: datetime.date, *, random: Random, locale: str | None = None) -> str:
    """Write a day in one of the ways people do, in a locale drawn by share unless it is given."""
    writer = _find_writer(locale or random.choices(LOCALES, _SHARES.values())[0])
    fields = _fill_fields(day, writer, random)
    while True:  # ends, for the year-first numeric templates fit every day
        kind = random.choices(writer.kinds, _KIND_SHARES)[0]
        template = _vary_template(random.choice(kind), writer, random)
        if _fits(template, day, fields):
            return _roughen(template.format_map(fields), writer.locale, random)


@cache
def list_month_words() -> dict[str, int]:
    """Map each month word, without case, accents and dots, to its month if it has only one in all locales."""
    meanings: dict[str, set[int]] = {}
    for locale in LOCALES:
        for months in _read_months(locale).values():
            for month, words in enumerate(months, start=1):
                for word in (*words, *(w.translate(_UMLAUTS) for w in words)):
                    meanings.setdefault(fold_word(word), set()).add(month)
    return {word: min(months) for word, months in meanings.items() if len(months) == 1}


def fold_word(word: str) -> str:
    """Reduce a word to what all its spellings share."""
    return re.sub("[.॰]", "", _drop_accents(word.casefold()))


def _write_split(name: str, days: list[datetime.date], count: int, seed: int, meanings: dict[str, str]) -> list[Pair]:
    most = _MOST_PER_DAY * len(days)
    if not 0 <= count <= most:
        raise ValueError(f"`{name}` must be between 0 and {most}, but is {count} instead.")
    random = Random(f"{seed} {name}")  # of its own, so that a longer train leaves the test as it was
    pairs: list[Pair] = []
    endless = cycle(days)
    while len(pairs) < count:
        day = next(endless)
        written, iso = write_date(day, random=random), day.isoformat()
        if meanings.get(written, iso) != iso:
            raise ValueError(f"`written` must have one meaning, but {written!r} is {meanings[written]} and {iso}.")
        if written not in meanings:
            pairs.append((written, iso))
        meanings[written] = iso
    return pairs
