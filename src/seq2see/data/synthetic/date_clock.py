"""Times of day beside dates, which a model must learn to ignore."""

import re
from random import Random

from seq2see.data.synthetic import date_locales

_TIME_SHARE = 0.06  # of dates with a time of day
_MACHINE_TIME_SHARE = 0.3  # the same of dates as programs write them
_PM = str.maketrans("aA", "pP")


def add_time(text: str, *, language: str, random: Random) -> str:
    """Put a time of day before or behind some dates, most often those of programs.

    Args:
        text: a written date.
        language: the language of the date, such as en.
        random: the source of all choices.
    """
    machine = re.fullmatch(r"\d{4}(-?)\d{2}\1\d{2}", text)
    if random.random() > (_MACHINE_TIME_SHARE if machine else _TIME_SHARE):
        return text
    if machine and random.random() < 0.6:
        return text + _write_stamp(random, dashed=bool(machine[1]))
    clock = write_clock(random, language, exact=random.random() < 0.5)
    if random.random() < 0.2:
        return f"{clock}{random.choice((' ', ', '))}{text}"
    zone = f" {random.choice(date_locales.ZONES)}" if random.random() < 0.2 else ""
    return f"{text}{random.choice((' ', ', ', date_locales.AT.get(language, ' ')))}{clock}{zone}"


def write_clock(random: Random, language: str = "", *, exact: bool) -> str:
    """Write a random time to the second, or to the minute or the hour as people do.

    Args:
        random: the source of all choices.
        language: the language whose habits count; an empty text writes digits and colons.
        exact: whether the time has seconds: 09:05:00.
    """
    hour, minute, second = random.randrange(24), random.randrange(60), random.randrange(60)
    if exact:
        return f"{hour:02}:{minute:02}:{second:02}"
    if language == "en" and random.random() < 0.5:
        half = random.choice((" am", "am", " AM", "AM", " a.m."))
        minutes = f":{minute:02}" if random.random() < 0.8 else ""
        return f"{hour % 12 or 12}{minutes}{half.translate(_PM) if hour > 11 else half}"
    colon = "h" if language == "fr" and random.random() < 0.5 else ":"
    return f"{hour:02}{colon}{minute:02}" if random.random() < 0.5 else f"{hour}{colon}{minute:02}"


def _write_stamp(random: Random, *, dashed: bool) -> str:
    """Write a time as logs and names of files have it behind 2018-05-23 or 20180523."""
    clock = write_clock(random, exact=True)
    if not dashed or random.random() < 0.1:
        clock = clock[: random.choice((5, 8, 8))].replace(":", "-" if dashed else "")
        return random.choice("_-T" if dashed else ("", *"_-TT")) + clock
    fraction = random.choice(("", "", f".{random.randrange(1000):03}", f".{random.randrange(10**6):06}", ",000"))
    zone = random.choice(("", "Z", "+02:00", "-0800", " UTC"))
    return f"{random.choice('T ')}{clock}{fraction}{zone}"
