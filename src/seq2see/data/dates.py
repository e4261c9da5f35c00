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
_COMPACT = [
    "{d}-{LLL}-{y}",
    "{dd}-{LLL}-{y}",
    "{dd}/{LLL}/{y}",
    "{d}/{LLL}/{y}",
    "{d}{LLL}{y}",
    "{dd}{LLL}{y}",
    "{y}-{LLL}-{dd}",
]
_COMPACT_LOCALES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "da",
    "nb",
    "pl",
    "cs",
    "sk",
    "sl",
    "hr",
    "ro",
    "el",
    "tr",
    "ru",
    "uk",
    "bg",
    "ca",
    "id",
]
_YEAR_FIRST = tuple(f"{{y}}{s}{{{m}}}{s}{{{d}}}" for s in "-/." for m, d in (("MM", "dd"), ("M", "d")))
_KIND_SHARES = (45, 30, 9, 16)  # CLDR's own, informal, compact, numeric

# Babel lends one locale's inherited stand-alone names to the next, so only locales that own theirs are asked.
_STANDALONE = {
    "wide": ["fi", "pl", "cs", "sk", "hr", "el", "ru", "uk", "ca", "fa"],
    "abbreviated": ["de", "de_AT", "nb", "el", "ru", "ca"],
}
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


@cache
def _find_writer(locale: str) -> _Writer:
    if locale not in _SHARES:
        raise ValueError(f"`locale` must be one of {', '.join(LOCALES)}, but is {locale!r} instead.")
    own = _read_templates(locale)
    compact = tuple(_COMPACT) if _language(locale) in _COMPACT_LOCALES else own
    return _Writer(
        locale=locale,
        kinds=(own, _read_informal(locale) or own, compact, _list_numeric(locale)),
        months=_keep_clear_words(_read_months(locale)),
        weekdays=_read_weekdays(locale),
        opens_with_weekday=any(template.startswith("{EEEE}") for template in own),
    )


def _language(locale: str) -> str:
    return locale.partition("_")[0]


def _read_templates(locale: str) -> tuple[str, ...]:
    data = Locale.parse(locale)
    formats = [data.date_formats[length].pattern for length in ("full", "long", "medium", "short")]
    formats += [data.datetime_skeletons[s].pattern for s in _SKELETONS if s in data.datetime_skeletons]
    # a week year (Y) or an era (G) would make another year of it
    return tuple(dict.fromkeys(_translate(f) for f in formats if not re.search("[YGu]", f)))


def _translate(pattern: str) -> str:
    """Turn a CLDR pattern into a template, its spaces plain and its year, for now, in full."""
    pattern = pattern.replace("\u200f", "").replace("\u202f", " ")
    return re.sub(r"'([^']*)'|([A-Za-z])\2*", lambda m: m[1] or _name_field(m[0]), pattern)


def _name_field(letters: str) -> str:
    if letters[0] == "y":
        return "{y}"
    if letters[0] in "Ec":
        return "{EEEE}" if len(letters) == 4 else "{E}"
    return "{" + letters.replace("L", "M") + "}"


def _read_informal(locale: str) -> tuple[str, ...]:
    rows = [[cell.strip() for cell in row.split("|")] for row in _INFORMAL.strip().splitlines()]
    return tuple(cell for row in rows if row[0] in (locale, _language(locale)) for cell in row[1:])


def _list_numeric(locale: str) -> tuple[str, ...]:
    usual = _translate(Locale.parse(locale).datetime_skeletons["yMd"].pattern)
    year_first = (*_YEAR_FIRST, "{y}{MM}{dd}", "{y} {MM} {dd}")
    if usual.startswith("{y}"):
        return year_first
    pairs = ("M", "d"), ("MM", "dd")
    day_first = usual.index("{d") < usual.index("{M")
    orders = [pair[::-1] if day_first else pair for pair in pairs]
    return year_first + tuple(f"{{{a}}}{s}{{{b}}}{s}{{y}}" for s in "//-. " for a, b in orders)


@cache
def _read_months(locale: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    names = Locale.parse(locale).months
    fields: dict[str, list[tuple[str, ...]]] = {"MMMM": [], "LLLL": [], "MMM": [], "LLL": []}
    for month in range(1, 13):
        wide, short = (names["format"][width][month] for width in ("wide", "abbreviated"))
        alone = [names[_context(locale, width)][width][month] for width in ("wide", "abbreviated")]
        more = tuple(_MORE_WORDS.get(_language(locale), {}).get(month, "").split())
        fields["MMMM"].append((wide,))
        fields["LLLL"].append((alone[0],))
        fields["MMM"].append((short, *more, *_add_dots((short, *more), wide, locale)))
        fields["LLL"].append(tuple(word.rstrip(".") for word in (alone[1], *more)))
    return {field: tuple(words) for field, words in fields.items()}


def _context(locale: str, width: str) -> str:
    return "stand-alone" if locale in _STANDALONE[width] else "format"


def _add_dots(words: tuple[str, ...], wide: str, locale: str) -> Iterator[str]:
    if _language(locale) in _DOTTED:
        yield from (f"{word}." for word in words if len(word) < len(wide))


def _keep_clear_words(months: dict[str, tuple[tuple[str, ...], ...]]) -> dict[str, tuple[tuple[str, ...], ...]]:
    clear = list_month_words()
    return {
        field: tuple(tuple(word for word in words if fold_word(word) in clear) for words in twelve)
        for field, twelve in months.items()
    }


def _read_weekdays(locale: str) -> dict[str, tuple[str, ...]]:
    """List the names from Monday on, the wide one also where the short one could be a month or a number."""
    names = Locale.parse(locale).days["format"]
    wide = tuple(names["wide"][n] for n in range(7))
    short = tuple(names["abbreviated"][n] for n in range(7))
    unclear = [fold_word(s) in list_month_words() or re.search(r"\d", s) for s in short]
    return {"EEEE": wide, "E": tuple(w if bad else s for w, s, bad in zip(wide, short, unclear, strict=True))}


def _fill_fields(day: datetime.date, writer: _Writer, random: Random) -> dict[str, str]:
    """Write every field of a day; an empty one is one that this day cannot have."""
    y, m, d = day.year, day.month, day.day
    fields = {"d": str(d), "dd": f"{d:02}", "M": str(m), "MM": f"{m:02}", "y": f"{y:04}"}
    fields["yy"] = f"{y % 100:02}" if 1969 <= y <= 2068 else ""  # the years that POSIX reads two digits as
    fields["th"] = _write_ordinal(d, _language(writer.locale))
    # the weekday is at times a wrong one: it must never decide the date
    weekday = (day.weekday() + (random.randint(1, 6) if random.random() < 0.15 else 0)) % 7
    names = {field: words[weekday] for field, words in writer.weekdays.items()}
    names |= {field: random.choice(words[m - 1] or ("",)) for field, words in writer.months.items()}
    if random.random() < 0.1:
        names = {field: re.sub(r"\w{3,}", lambda s: s[0].capitalize(), name) for field, name in names.items()}
    return fields | names


def _write_ordinal(day: int, language: str) -> str:
    if language == "en":
        return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
    if language == "sv":
        return f"{day}:{'a' if day in (1, 2, 21, 22, 31) else 'e'}"
    return {"fr": "1er", "es": "1º", "it": "1º", "pt": "1º"}.get(language, "") if day == 1 else ""


def _vary_template(template: str, writer: _Writer, random: Random) -> str:
    """Change a template's month, day or year to another width, or put a weekday before it."""
    if re.search("MMM|LLL", template):
        roll = random.random()
        template = template.replace("MMMM", "MMM" if roll < 0.2 else "LLLL" if roll < 0.26 else "MMMM")
        template = template.replace("{d}", "{dd}") if random.random() < 0.06 else template
        # two digits are a year only where nothing but the year can stand: at the end, after a month word
        if template.endswith("{y}") and _language(writer.locale) in _COMPACT_LOCALES and random.random() < 0.1:
            template = template[:-3] + random.choice(("{yy}", "{yy}", "'{yy}", "’{yy}"))
    if "E" not in template and writer.opens_with_weekday and random.random() < 0.08:
        return random.choice(("{EEEE}, ", "{EEEE} ", "{E}, ", "{E} ")) + template
    return template


@cache
def _list_fields(template: str) -> frozenset[str]:
    return frozenset(re.findall(r"{(\w+)}", template))


def _fits(template: str, day: datetime.date, fields: dict[str, str]) -> bool:
    """Tell whether a template can write a day so that it has one reading."""
    used = _list_fields(template)
    if not all(fields[field] for field in used):
        return False
    named = any(len(field) > 2 and field[0] in "ML" for field in used)
    return named or template.find("{y}") < template.find("{d") or day.day > 12 or day.day == day.month


def _roughen(text: str, locale: str, random: Random) -> str:
    """Write as loosely as people do: in commas, dots, accents, case, spaces and digits."""
    for chance, old, new in _EDITS:
        if random.random() < chance:
            text = old.sub(new, text)
    if random.random() < 0.1:
        german = _language(locale) == "de" and random.random() < 0.5
        text = text.translate(_UMLAUTS) if german else _drop_accents(text)
    text = _space(_recase(text, locale, random), random)
    digits, chance = _DIGITS.get(locale, ("", 0.0))
    return text.translate(str.maketrans("0123456789", digits)) if random.random() < chance else text


def _drop_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text))).translate(_LETTERS)


def _recase(text: str, locale: str, random: Random) -> str:
    roll = random.random()
    if roll < 0.06:  # capitals have no accents in Greek, and keep the dot of an i in Turkish
        text = _drop_accents(text) if locale == "el" else text
        return (text.replace("i", "İ") if locale == "tr" else text).upper()
    if roll < 0.18:
        return text.lower()
    return text[:1].upper() + text[1:] if roll < 0.22 else text


def _space(text: str, random: Random) -> str:
    for chance, old, new in _BLANKS:
        spots = [i for i, c in enumerate(text) if c == old] if random.random() < chance else []
        if spots:
            spot = random.choice(spots)
            text = text[:spot] + new + text[spot + 1 :]
    left, right = (" " if random.random() < 0.015 else "" for _ in range(2))
    return left + text + right
