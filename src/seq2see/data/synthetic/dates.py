"""Dates as people write them in many locales, each paired with its ISO form."""

import datetime
import re
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from random import Random

from babel import Locale

from seq2see.data.synthetic import date_locales
from seq2see.data.synthetic.date_clock import add_time, write_clock
from seq2see.data.synthetic.month_words import (
    UMLAUTS,
    MonthWords,
    drop_accents,
    fold_word,
    list_month_words,
    read_months,
)

Pair = tuple[str, str]

_DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(n) for n in range(36_890)]  # all until 2050
# and some of 1400 to 2199, so that years are read as they stand
_OTHER_DAYS = [datetime.date(1400, 1, 1) + datetime.timedelta(n) for n in range(0, 292_000, 149)]
_MAX_STRINGS_PER_DAY = 50  # far below the ways to write one day, so that a new string is quickly found

_KIND_WEIGHTS = (45, 30, 9, 16)  # of the locale's CLDR, informal, compact and numeric templates
_SKELETONS = ("yMMMd", "yMMMMd", "yMMMEd", "yMMMMEd", "yMMMMEEEEd", "yMd", "yMEd")
_FIELDS = {"yy": "y", "EEE": "E", "ccc": "E", "cccc": "EEEE", "LLL": "MMM", "LLLL": "MMMM"}
_TYPO_SHARE = 0.02  # of long month words with a letter lost, doubled or swapped with the next
# Chance, pattern, replacement; none may join two numbers, nor take the dots out of a numeric date.
_EDITS = (
    (0.15, r"[,،] ?", " "),
    (0.02, r",", ",,"),
    (0.04, r"(?<=,) ", ""),
    (0.25, r"(?<=[^\W\d])[.॰](?=\W|$)", ""),  # after a short word
    (0.12, r"(?<=\d)\.(?= ?[^\W\d])", ""),  # after an ordinal
    (0.04, r"(?<=\d\.) (?=[^\W\d])", ""),
    (0.02, r"(?<=\d) (?=[^\W\d]{3})|(?<=[^\W\d]{3}) (?=\d+$)", ""),
    (0.02, r" (?=\S+$)", "  "),
    (0.03, r"^(\d+)([/-])(\d+)\2(\d+)$", r"\1 \2 \3 \2 \4"),
    (0.008, " ", "\u00a0"),
    (0.015, r"^", " "),
    (0.015, r"$", " "),
    (0.01, r"$", "."),
    (0.01, r"^.*$", r"(\g<0>)"),
    *((0.005, r"^", f"{label}: ") for label in ("Date", "DOB")),
)


@dataclass(frozen=True)
class DateSplits:
    """Pairs (written, ISO) of each split; no day and no string is in two splits.

    Args:
        train: the training pairs.
        valid: the validation pairs.
        test: the test pairs.
    """

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


@dataclass(frozen=True)
class _Writer:
    locale: str
    language: str
    kinds: tuple[tuple[str, ...], ...]
    months: dict[str, MonthWords]
    weekdays: dict[str, tuple[str, ...]]


def make_dates(*, train: int, valid: int, test: int, seed: int) -> DateSplits:
    """Write dates for each split, from days of its own: a tenth of all days each for valid and test.

    The same arguments give the same pairs.

    Args:
        train: the number of training pairs.
        valid: the number of validation pairs.
        test: the number of test pairs.
        seed: the seed of all random choices.

    Raises:
        ValueError: a number is negative, or more than fifty for each day of its split.
    """
    days = sorted({*_DAYS, *_OTHER_DAYS})
    Random(seed).shuffle(days)
    tenth = len(days) // 10
    meanings: dict[str, str] = {}
    return DateSplits(
        train=_write_split("train", days[2 * tenth :], train, seed, meanings),
        valid=_write_split("valid", days[:tenth], valid, seed, meanings),
        test=_write_split("test", days[tenth : 2 * tenth], test, seed, meanings),
    )


def write_date(day: datetime.date, *, random: Random, locale: str | None = None) -> str:
    """Write a day in one of the ways people do.

    Args:
        day: the day to write.
        random: the source of all choices.
        locale: one of `date_locales.LOCALES`; None draws one by its share.
    """
    writer = _find_writer(locale or random.choices(date_locales.LOCALES, date_locales.WEIGHTS)[0])
    fields = _fill_fields(day, writer, random)
    while True:  # ends, for year-first numbers fit every day
        kind = random.choices(writer.kinds, _KIND_WEIGHTS)[0]
        template = _vary_template(random.choice(kind), writer, random)
        if _fits(template, day, fields):
            text = template.format_map(fields)
            timed = text if "{time}" in template else add_time(text, language=writer.language, random=random)
            return _roughen(timed, writer, random)


def _write_split(name: str, days: list[datetime.date], count: int, seed: int, meanings: dict[str, str]) -> list[Pair]:
    most = _MAX_STRINGS_PER_DAY * len(days)
    if not 0 <= count <= most:
        raise ValueError(f"`{name}` must be between 0 and {most}, but is {count} instead.")
    random = Random(f"{seed} {name}")  # of its own, so that a longer train leaves the test as it was
    pairs: list[Pair] = []
    for day in cycle(days):
        if len(pairs) == count:
            break
        written, iso = write_date(day, random=random), day.isoformat()
        if written not in meanings:
            pairs.append((written, iso))
        if meanings.setdefault(written, iso) != iso:
            raise ValueError(f"{written!r} must have one meaning, but is {meanings[written]} and {iso}.")
    return pairs


@cache
def _find_writer(locale: str) -> _Writer:
    if locale not in date_locales.LOCALES:
        raise ValueError(f"`locale` must be one of {', '.join(date_locales.LOCALES)}, but is {locale!r} instead.")
    language = locale.partition("_")[0]
    own = _read_templates(locale)
    informal = date_locales.TEMPLATES.get(locale) or date_locales.TEMPLATES.get(language) or own
    compact = own if language in date_locales.NEVER_COMPACT else date_locales.COMPACT
    months = {field: _keep_clear(words) for field, words in read_months(locale).items()}
    return _Writer(locale, language, (own, informal, compact, _list_numeric(locale)), months, _read_weekdays(locale))


def _read_templates(locale: str) -> tuple[str, ...]:
    data = Locale.parse(locale)
    patterns = [data.date_formats[length].pattern for length in ("full", "long", "medium", "short")]
    patterns += [data.datetime_skeletons[s].pattern for s in _SKELETONS if s in data.datetime_skeletons]
    # Y is the year of the week: on some days around New Year another one than the calendar's
    return tuple(dict.fromkeys(_translate(p) for p in patterns if "Y" not in p))


def _translate(pattern: str) -> str:
    """Turn a CLDR pattern into a template with plain spaces and, for now, the year in full."""
    pattern = pattern.replace("\u200f", "").replace("\u202f", " ")
    return re.sub(r"'([^']*)'|([A-Za-z])\2*", lambda m: m[1] or f"{{{_FIELDS.get(m[0], m[0])}}}", pattern)


def _list_numeric(locale: str) -> tuple[str, ...]:
    usual = _translate(Locale.parse(locale).datetime_skeletons["yMd"].pattern)
    widths = (("{M}", "{d}"), ("{MM}", "{dd}"))
    year_first = (*(f"{{y}}{s}{m}{s}{d}" for s in "-/." for m, d in widths), "{y}{MM}{dd}", *date_locales.STAMPS)
    if usual.startswith("{y}"):
        return year_first
    orders = [(d, m) if usual.index("{d") < usual.index("{M") else (m, d) for m, d in widths]
    return year_first + tuple(f"{a}{s}{b}{s}{{y}}" for s in "//-. " for a, b in orders)


def _keep_clear(words: MonthWords) -> MonthWords:
    return tuple(tuple(word for word in month if fold_word(word) in list_month_words()) for month in words)


def _read_weekdays(locale: str) -> dict[str, tuple[str, ...]]:
    """List the names from Monday on, in full where the short one could be taken for a month or a number."""
    names = Locale.parse(locale).days["format"]
    wide, short = (tuple(names[width][n] for n in range(7)) for width in ("wide", "abbreviated"))
    clear = [fold_word(s) not in list_month_words() and not re.search(r"\d", s) for s in short]
    return {"EEEE": wide, "E": tuple(s if ok else w for s, w, ok in zip(short, wide, clear, strict=True))}


def _fill_fields(day: datetime.date, writer: _Writer, random: Random) -> dict[str, str]:
    """Write all fields of a day; an empty one is one that this day cannot have in this locale."""
    y, m, d = day.year, day.month, day.day
    # the weekday is at times a wrong one, so that nobody learns the date from it
    weekday = (day.weekday() + (random.randint(1, 6) if random.random() < 0.15 else 0)) % 7
    names = {field: words[weekday] for field, words in writer.weekdays.items()}
    names |= {field: random.choice(words[m - 1] or ("",)) for field, words in writer.months.items()}
    if random.random() < 0.1:
        names = {field: re.sub(r"\w{3,}", lambda word: word[0].capitalize(), names[field]) for field in names}
    short_year = f"{y % 100:02}" if 1969 <= y <= 2068 else ""  # the years that POSIX reads two digits as
    numbers = {"d": f"{d}", "dd": f"{d:02}", "M": f"{m}", "MM": f"{m:02}", "y": f"{y:04}", "yy": short_year}
    ordinals = {
        "th": _write_ordinal(d, writer.language),
        "nth": date_locales.SPELLED[d - 1],
        "R": date_locales.ROMAN[m - 1],
    }
    times = {"time": write_clock(random, exact=True), "zone": random.choice(date_locales.ZONES)}
    chinese = {"hy": "".join(date_locales.CHINESE[int(digit)] for digit in f"{y}")}
    chinese |= {"hM": _write_chinese(m), "hd": _write_chinese(d)}
    return names | numbers | ordinals | times | chinese


def _write_ordinal(day: int, language: str) -> str:
    if language == "en":
        return f"{day}{date_locales.ORDINALS.get(day, 'th')}"
    return date_locales.FIRSTS.get(language, "") if day == 1 else ""


def _write_chinese(number: int) -> str:
    """Write a number below a hundred in Chinese: 二十三."""
    tens, ones = divmod(number, 10)
    return (
        (date_locales.CHINESE[tens] if tens > 1 else "")
        + "十" * (tens > 0)
        + (date_locales.CHINESE[ones] if ones else "")
    )


def _vary_template(template: str, writer: _Writer, random: Random) -> str:
    """Change the width of a template's month, day or year, or put a weekday before or behind it."""
    template = template.replace("MMMM", random.choices(("MMMM", "MMM", "LLLL"), (74, 20, 6))[0])
    if _has_word(template) and random.random() < 0.06:
        template = template.replace("{d}", "{dd}")
    # two digits are written only where people expect the year: at the end of a date
    ends = template.endswith("{y}") and writer.kinds[2] is date_locales.COMPACT
    apart = _has_word(template) and template[-4:-3] == " "
    if ends and random.random() < (0.1 if apart else 0.25):
        template = template[:-3] + random.choice(("{yy}", "'{yy}", "’{yy}") if apart else ("{yy}",))
    if "E" not in template and writer.kinds[0][0].startswith("{EEEE}") and random.random() < 0.08:
        template = random.choice(("{EEEE}, ", "{EEEE} ", "{E}, ", "{E} ")) + template
    elif "E" not in template and random.random() < 0.03:
        template += random.choice((" ({EEEE})", " ({E})", ", {EEEE}", " {EEEE}"))
    return template


def _has_word(template: str) -> bool:
    return any(field in template for field in ("MMM", "LLL", "{R}"))


def _fits(template: str, day: datetime.date, fields: dict[str, str]) -> bool:
    """Tell whether a template can write this day, and so that there is one way to read it."""
    if not all(fields[field] for field in re.findall(r"{(\w+)}", template)):
        return False
    # two numbers before a year may be read either way, but between dots or spaces hardly anybody writes the month first
    swappable = re.search(r"{[dM]+}\W*{[dM]+}\W*{yy?}", template) and not re.search(r"{d+}[. ]+{M", template)
    return not swappable or _has_word(template) or day.day > 12 or day.day == day.month


def _mistype(text: str, random: Random) -> str:
    """Put a typo into a month word that is long enough to be recognised."""
    words = [word for word in re.finditer(r"[^\W\d]{6,}", text) if fold_word(word[0]) in list_month_words()]
    if not words:
        return text
    place = random.randrange(words[0].start() + 1, words[0].end() - 2)
    pair = text[place : place + 2]
    return text[:place] + random.choice((pair[1], pair[0] + pair, pair[::-1])) + text[place + 2 :]


def _roughen(text: str, writer: _Writer, random: Random) -> str:
    """Write as loosely as people do with commas, dots, accents, capitals and spaces, and in the locale's digits."""
    for chance, old, new in _EDITS:
        text = re.sub(old, new, text) if random.random() < chance else text
    if random.random() < 0.1:
        german = writer.language == "de" and random.random() < 0.5
        text = text.translate(UMLAUTS) if german else drop_accents(text)
    text = _recase(text, writer.language, random)
    text = _mistype(text, random) if random.random() < _TYPO_SHARE else text
    digits, chance = date_locales.DIGITS.get(writer.locale, ("", 0.0))
    return text.translate(str.maketrans("0123456789", digits)) if random.random() < chance else text


def _recase(text: str, language: str, random: Random) -> str:
    roll = random.random()
    if roll < 0.06:  # capitals lose their accents in Greek, and an i keeps its dot in Turkish
        text = drop_accents(text) if language == "el" else text
        return (text.replace("i", "İ") if language == "tr" else text).upper()
    if roll < 0.18:
        return text.lower()
    return text[:1].upper() + text[1:] if roll < 0.22 else text
