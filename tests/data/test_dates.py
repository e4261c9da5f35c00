"""Written dates: one meaning each, none in two splits, and the ways of writing that people expect."""

import datetime
import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from random import Random

import pytest
from babel.dates import format_date

from seq2see.data.synthetic import date_locales as locales
from seq2see.data.synthetic import dates
from seq2see.data.synthetic.date_locales import LOCALES
from seq2see.data.synthetic.dates import DateSplits, make_dates, write_date
from seq2see.data.synthetic.month_words import fold_word, list_month_words

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIME = re.compile(
    r"""(?<![\d:])\d\d?[:h]\d\d(:\d\d)?([.,]\d+)?(\s*(GMT)?[+-]\d\d:?\d\d)? | (?<!\d)\d\d?(?=\s?[ap]\.?m)
    | (?<=\d{8})[_T-]?\d{4,6}\b | (?<=\d{4}-\d\d-\d\d)[_T-]\d\d-\d\d(-\d\d)?""",
    re.VERBOSE | re.IGNORECASE,
)
FEBRUARY = """
february februar février febrero febbraio fevereiro februari helmikuuta lutego února februára februarie február
февруари φεβρουαρίου şubat февраля лютого febrer फ़रवरी فبراير בפברואר
"""


@pytest.fixture(scope="module")
def splits() -> DateSplits:
    return make_dates(train=4_000, valid=3_800, test=500, seed=3)  # a tenth of the days is 3_689


@pytest.fixture(scope="module")
def pairs(splits: DateSplits) -> list[tuple[str, str]]:
    return splits.train + splits.valid + splits.test


def numbers(text: str) -> list[str]:
    """The runs of digits of a date, whatever the script they are written in; those of a time of day are left out."""
    plain = "".join(str(unicodedata.digit(c)) if c.isdigit() and c != "º" else c for c in text)
    return re.findall(r"\d+", TIME.sub("", plain))


def numeric_readings(parts: list[str], *, day_first: bool = False) -> set[str]:
    """All the days that somebody could read in three numbers with the year first or last, or in eight digits."""
    if len(parts) == 1:
        parts = [parts[0][:4], parts[0][4:6], parts[0][6:]]
    (first, second), year = (parts[1:], parts[0]) if len(parts[0]) == 4 else (parts[:2], parts[2])
    orders = [(first, second)] if year is parts[0] else [(first, second), (second, first)]
    if day_first and year is parts[2] and int(second) <= 12:
        orders = orders[1:]
    year = year if len(year) == 4 else f"{19 if year >= '69' else 20}{year}"
    return {f"{year}-{int(m):02}-{int(d):02}" for m, d in orders if int(m) <= 12}


def samples(day: datetime.date, *, locale: str, count: int = 2_000) -> set[str]:
    random = Random(5)
    return {write_date(day, random=random, locale=locale) for _ in range(count)}


def missing(expected: set[str], day: datetime.date, *, locale: str, draws: int) -> set[str]:
    """Of these ways to write a day, those that do not come up."""
    random, rest = Random(5), set(expected)
    for _ in range(draws):
        rest.discard(write_date(day, random=random, locale=locale))
        if not rest:
            break
    return rest


def test_splits_have_the_sizes_asked_for(splits: DateSplits) -> None:
    assert (len(splits.train), len(splits.valid), len(splits.test)) == (4_000, 3_800, 500)


@pytest.mark.parametrize("side", [0, 1], ids=["string", "day"])
def test_splits_are_disjoint(splits: DateSplits, side: int) -> None:
    train, valid, test = ({pair[side] for pair in split} for split in (splits.train, splits.valid, splits.test))
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_days_that_are_held_out_stay_so_when_training_goes_through_its_days_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dates, "_DAYS", [datetime.date(1970, 1, 1) + datetime.timedelta(n) for n in range(100)])
    monkeypatch.setattr(dates, "_OTHER_DAYS", [])
    splits = make_dates(train=400, valid=30, test=20, seed=3)
    train, valid, test = ({iso for _, iso in split} for split in (splits.train, splits.valid, splits.test))
    assert (len(train), len(valid), len(test)) == (80, 10, 10)  # a tenth each, and the rest
    assert not train & (valid | test)
    assert not valid & test


def test_no_string_is_written_twice(pairs: list[tuple[str, str]]) -> None:
    assert len({written for written, _ in pairs}) == len(pairs)


def test_a_string_has_one_meaning_whatever_its_case_accents_and_punctuation(pairs: list[tuple[str, str]]) -> None:
    meanings: dict[tuple[str, ...], set[str]] = {}
    for written, iso in pairs:
        meanings.setdefault(tuple(map(fold_word, re.findall(r"\d+|[^\W\d]+", written))), set()).add(iso)
    assert [key for key, isos in meanings.items() if len(isos) > 1] == []


def test_most_days_are_of_the_years_1950_to_2050_and_some_of_eight_centuries(pairs: list[tuple[str, str]]) -> None:
    years = [int(iso[:4]) for _, iso in pairs]
    assert 0.93 < sum(1950 <= year <= 2050 for year in years) / len(years) < 0.97
    assert (min(years) // 100, max(years) // 100) == (14, 21)


def test_the_seed_decides() -> None:
    first, again, other = (make_dates(train=50, valid=20, test=20, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.train != other.train


def test_a_longer_train_leaves_the_test_as_it_was() -> None:
    short, long = (make_dates(train=count, valid=0, test=50, seed=1) for count in (10, 500))
    assert short.test == long.test
    assert short.train == long.train[:10]


def test_another_process_writes_the_same_even_after_babel_mixed_up_its_names() -> None:
    script = """
import hashlib, sys
from babel import Locale
for name in ("he", "zh", "hi"):  # their inherited stand-alone names end up in other locales
    [list(Locale.parse(name).months["stand-alone"][width].values()) for width in ("wide", "abbreviated")]
from seq2see.data.synthetic import dates
from seq2see.data.synthetic.dates import make_dates
assert "torch" not in sys.modules
print(hashlib.sha256(repr(make_dates(train=2000, valid=50, test=50, seed=9)).encode()).hexdigest())
"""
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    here = repr(make_dates(train=2000, valid=50, test=50, seed=9))
    assert run.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_times_of_day_stand_beside_dates_and_change_nothing() -> None:
    day = datetime.date(2018, 5, 23)
    for locale in ("en_US", "de", "ja"):
        timed = {written for written in samples(day, locale=locale) if TIME.search(written)}
        assert 50 < len(timed) < 250, locale  # 6 % of 2,000, and some are written twice
    english = "\n".join(samples(day, locale="en_US", count=20_000))
    clock = r"\d\d:\d\d:\d\d"
    for way in (
        rf"2018-05-23T{clock}Z",
        r"May 23, 2018 at 1?\d:\d\d [ap]m",
        rf"Wed May 23 {clock} 2018",  # C's asctime
        rf"Wed, 23 May 2018 {clock} -0500",  # mail
        rf"23/May/2018:{clock} \+0000",  # Apache's logs
        rf"2018:05:23 {clock}",  # cameras
        r"20180523_\d{6}",  # names of files
        rf"2018-05-23 {clock},\d{{3}}",  # Python's logs
        r"May 23, 2018, 1?\d ?AM",
    ):
        assert re.search(way, english), way
    assert not re.search(r"\b(0|1[3-9]|2\d):\d\d ?[ap]\.?m", english, re.IGNORECASE)  # the clock has twelve hours then


def test_some_long_month_words_have_a_mistake_and_none_becomes_another_month() -> None:
    september = samples(datetime.date(2018, 9, 23), locale="en_GB", count=20_000)
    assert any("Spetember" in written for written in september)
    assert any("Septtember" in written for written in september)
    assert any("Septmber" in written for written in september)
    months = list_month_words()
    for word, month in months.items():
        for seed in range(100 if len(word) > 5 else 0):
            mistyped = dates._mistype(word, Random(seed))
            assert months.get(fold_word(mistyped), month) == month, (word, mistyped)


def test_the_year_is_the_calendars_on_the_days_around_new_year() -> None:
    # in ISO weeks these days belong to 2019, 2020, 2025, 2026 and, in weeks from Sunday on, to 2023
    days = [datetime.date(*ymd) for ymd in ((2018, 12, 31), (2021, 1, 1), (2024, 12, 30), (2027, 1, 3), (2022, 12, 31))]
    for locale in LOCALES:
        for day in days:
            for written in samples(day, locale=locale, count=25):
                parts = numbers(written)
                years = {str(day.year), day.strftime("%y"), day.strftime("%Y%m%d")}
                chinese = "".join(locales.CHINESE[int(digit)] for digit in str(day.year))
                assert years & {*parts[:1], *parts[-1:]} or chinese in written, (locale, day, written)


def test_a_numeric_date_can_be_read_in_one_way_only() -> None:
    random, seen = Random(0), 0
    for n in range(4_000):
        day = datetime.date(1950, 1, 1) + datetime.timedelta(3 * n)
        locale = LOCALES[n % len(LOCALES)]
        written = write_date(day, random=random, locale=locale)
        parts = numbers(written)
        if locale != "vi" and (len(parts) == 3 or len("".join(parts)) == 8):  # a Vietnamese month word holds a number
            seen += 1
            dotted = re.search(r"\d[.\s]+\d+[.\s]+\d", written) is not None
            assert numeric_readings(parts, day_first=dotted) == {day.isoformat()}, written
    assert seen > 600


def test_the_numeric_reader_of_this_file_sees_what_is_ambiguous() -> None:
    assert numeric_readings(["03", "04", "2018"]) == {"2018-03-04", "2018-04-03"}
    assert numeric_readings(["4", "4", "2018"]) == {"2018-04-04"}
    assert numeric_readings(["13", "4", "2018"]) == {"2018-04-13"}
    assert numeric_readings(["20180509"]) == {"2018-05-09"}
    assert numeric_readings(["3", "4", "18"], day_first=True) == {"2018-04-03"}
    assert numeric_readings(["4", "13", "78"], day_first=True) == {"1978-04-13"}


ROMAN = {"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"}


def test_two_digits_are_a_year_of_1969_to_2068_after_the_day_and_the_month(pairs: list[tuple[str, str]]) -> None:
    short = [(w, iso) for w, iso in pairs if numbers(w) and all(len(part) < 4 for part in numbers(w))]
    for written, iso in short:
        *before, year = map(int, numbers(written))
        month, day = int(iso[5:7]), int(iso[8:])
        assert (1900 if year >= 69 else 2000) + year == int(iso[:4]), written
        if len(before) == 2:
            assert before in ([day, month], [month, day]), written
            continue
        assert before in ([day], []), written  # or spelled out
        words = {fold_word(word) for word in re.findall(r"[^\W\d]+", written)}
        assert words & (list_month_words().keys() | ROMAN) or max(map(len, words)) > 4, written  # or mistyped
    assert 0.04 < len(short) / len(pairs) < 0.12


def test_a_word_for_two_months_is_no_month_word(monkeypatch: pytest.MonkeyPatch) -> None:
    words = list_month_words()
    assert (words["listopada"], words["sept"], words["marz"], words["maerz"], words["май"]) == (11, 9, 3, 3, 5)
    # listopada is November in Poland and October in Croatia, lip July and June
    monkeypatch.setattr(locales, "LOCALES", ("pl", "hr"))
    list_month_words.cache_clear()
    try:
        assert list_month_words().keys().isdisjoint({"listopada", "lis", "lip"})
    finally:
        list_month_words.cache_clear()


def test_many_languages_appear(pairs: list[tuple[str, str]]) -> None:
    text = " ".join(written for written, _ in pairs).lower()
    assert sum(bool(re.search(rf"(?<![^\W\d]){word}(?![^\W\d])", text)) for word in FEBRUARY.split()) >= 18
    assert {"年", "년"} <= set(text)


def test_english_has_about_two_fifths_of_the_words(pairs: list[tuple[str, str]]) -> None:
    march = [w.lower() for w, iso in pairs if iso[5:7] == "03" and re.search(r"[^\W\d]{4}", w)]
    assert 0.2 < sum("march" in w for w in march) / len(march) < 0.5


def test_the_weekday_is_wrong_about_one_time_in_seven() -> None:
    right: Counter[bool] = Counter()
    random = Random(2)
    for n in range(4_000):
        day = datetime.date(2000, 1, 1) + datetime.timedelta(n)
        found = re.findall("|".join(WEEKDAYS), write_date(day, random=random, locale="en_US").lower())
        if found:
            right[WEEKDAYS.index(found[0]) == day.weekday()] += 1
    assert right.total() > 1_000
    assert right[False] / right.total() == pytest.approx(0.15, abs=0.04)


@pytest.mark.parametrize(
    ("locale", "iso", "expected"),
    [
        ("en_GB", "2016-02-20", {"20th of February 2016", "the 20th of February, 2016", "20 February 2016"}),
        ("en_GB", "1979-05-03", {"May 3rd 1979", "May the 3rd 1979", "3 May '79", "3-May-1979", "3May1979"}),
        ("en_US", "2018-09-09", {"Sept. 9, 2018", "Sep 9 2018", "2018 September 9", "Sun, Sep 9, 2018", "20180909"}),
        ("en_US", "2018-05-09", {"2018/05/09", "2018.5.9", "2018-5-9", "Wednesday the 9th of May 2018", "9May2018"}),
        ("en_US", "1978-04-28", {"4/28/78", "April 28, 1978 (Friday)", "28-Apr-78"}),
        ("de", "2016-02-20", {"20. Februar 2016", "am 20. Februar 2016", "20.02.2016", "20. Feb 16", "20.02.16"}),
        ("de", "2016-02-03", {"03.02.2016", "3.2.2016", "3.2.16"}),
        ("de", "1979-03-03", {"3. März 1979", "3. Marz 1979", "3. Maerz 1979", "3 März 1979"}),
        ("de_AT", "2016-01-20", {"20. Jänner 2016"}),
        ("fr", "2020-05-01", {"1er mai 2020", "le 1 mai 2020", "le 1er mai 2020"}),
        ("fr", "1998-02-14", {"14 février 1998", "14 fevrier 1998", "le 14 février 1998", "14 févr 1998"}),
        ("es", "2020-05-01", {"1º de mayo de 2020", "el 1 de mayo de 2020", "1 de Mayo de 2020"}),
        ("sv", "2018-05-03", {"den 3 maj 2018"}),
        ("ru", "2018-05-09", {"9 мая 2018 г.", "9 мая 2018"}),
        ("ja", "2018-05-09", {"2018年5月9日", "２０１８年５月９日", "2018年 5月 9日"}),
        ("zh_Hans", "2018-05-23", {"二〇一八年五月二十三日", "2018年五月二十三日"}),
        ("ko", "2018-05-09", {"2018년 5월 9일", "2018년5월9일"}),
        ("hi", "2018-05-09", {"9 मई 2018", "९ मई २०१८"}),
        ("ar", "2018-05-09", {"9 مايو 2018", "٩ مايو ٢٠١٨"}),
    ],
)
def test_known_ways_of_writing_appear(locale: str, iso: str, expected: set[str]) -> None:
    assert missing(expected, datetime.date.fromisoformat(iso), locale=locale, draws=3_000) == set()


@pytest.mark.parametrize("locale", LOCALES)
def test_babel_writes_so_too(locale: str) -> None:
    day = datetime.date(2018, 5, 23)
    expected = format_date(day, "long", locale=locale).replace("\u202f", " ")
    assert missing({expected}, day, locale=locale, draws=300) == set()


def test_the_looser_ways_of_spacing_and_case_appear() -> None:
    written = samples(datetime.date(2016, 2, 20), locale="en_US", count=12_000)
    for pattern in (
        r"^ ",
        r" $",
        "  ",
        "\u00a0",
        ",,",
        "^FEBRUARY 20TH",
        "^february 20th",
        r"20,2016$",
        "20 2016",
    ):
        assert any(re.search(pattern, w) for w in written), pattern


def test_a_wrong_request_says_what_is_possible() -> None:
    with pytest.raises(ValueError, match=r"`test` must be between 0 and \d+, but is 1000000000 instead"):
        make_dates(train=0, valid=0, test=10**9, seed=0)
    with pytest.raises(ValueError, match=r"`locale` must be one of en_US.*, but is 'xx' instead"):
        write_date(datetime.date(2016, 2, 20), random=Random(0), locale="xx")
