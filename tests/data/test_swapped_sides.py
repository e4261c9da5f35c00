"""Pairs whose sides are swapped on some lines are found by the data alone; nothing is found where both are alike."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from seq2see.data.checks import swapped_sides
from seq2see.data.checks.data_doctor import examine
from seq2see.data.checks.swapped_sides import compare_sides, find_swapped_sides
from seq2see.data.pairs import Finding, Origin, Pairs
from seq2see.data.synthetic.dates import make_dates

COUNT = 400


def make_words(seed: int, consonants: str, vowels: str, syllables: int) -> list[str]:
    """Words of a made-up language."""
    random = Random(seed)
    count = [random.randint(1, syllables) for _ in range(150)]
    return ["".join(random.choice(consonants) + random.choice(vowels) for _ in range(n)) for n in count]


ENGLISH = make_words(1, ["th", "w", "s", "st", "l", "k"], ["e", "ou", "a", "ing"], 2)
GERMAN = make_words(2, ["sch", "w", "s", "st", "k", "z"], ["e", "ei", "a", "en"], 4)  # the same letters
PERSIAN = ["".join(chr(ord(letter) + 0x5D0 - 0x61) for letter in word) for word in GERMAN]


def say(language: list[str], number: int) -> str:
    random = Random(number)
    return " ".join(random.choices(language, k=random.randint(2, 7)))


def pronounce(word: str) -> str:
    return " ".join(f"{letter.upper()}{'1' if letter in 'aeiou' else ''}" for letter in word)


def letters(number: int) -> str:
    return "".join(Random(number).choices("abcdefgh", k=Random(number).randint(4, 12)))


DATES = make_dates(train=COUNT, valid=10, test=10, seed=3).train
SIDES: dict[str, Callable[[int], tuple[str, str]]] = {
    "two languages": lambda n: (say(ENGLISH, n), say(GERMAN, n)),
    "two scripts": lambda n: (say(ENGLISH, n), say(PERSIAN, n)),
    "phonemes": lambda n: (letters(n), pronounce(letters(n))),
    "dates": lambda n: (DATES[n][0], DATES[n][1]),
}
ALIKE: dict[str, Callable[[int], tuple[str, str]]] = {
    "copies": lambda n: (letters(n), letters(n)),
    "reversed": lambda n: (letters(n), letters(n)[::-1]),
    "sentences": lambda n: (say(ENGLISH, n), say(ENGLISH, n + COUNT)),
    "one word": lambda n: (ENGLISH[n % 150], ENGLISH[(n + 7) % 150]),
    "sums": lambda n: (f"{n}+{n * 7}", f"{n * 8}"),
    "labels": lambda n: (say(ENGLISH, n), "pos" if n % 3 else "neg"),
}


def swap(kind: Callable[[int], tuple[str, str]], rows: range) -> Pairs:
    """Pairs whose sides are swapped in some rows."""
    pairs = [kind(n)[::-1] if n in rows else kind(n) for n in range(COUNT)]
    return Pairs([left for left, _ in pairs], [right for _, right in pairs], range(1, COUNT + 1))


def find(pairs: Pairs, file: str = "x.tsv") -> list[Finding]:
    return find_swapped_sides(pairs, Origin(Path(file)))


@pytest.mark.parametrize("rows", [range(3, 4), range(3, COUNT, 20), range(3, COUNT, 5)])
@pytest.mark.parametrize("kind", SIDES)
def test_swapped_lines_are_found_and_no_others(kind: str, rows: range) -> None:
    (found,) = find(swap(SIDES[kind], rows))
    wanted = {row + 1 for row in rows}
    assert "source and target seem to be swapped" in found.message
    assert set(found.lines) <= wanted  # a date in ISO form on both sides cannot be told
    assert len(found.lines) >= 0.9 * len(wanted)
    assert (found.line, found.count, found.level) == (found.lines[0], len(found.lines), "warning")


@pytest.mark.parametrize("kind", {**SIDES, **ALIKE})
def test_nothing_is_found_in_good_data(kind: str) -> None:
    assert find(swap({**SIDES, **ALIKE}[kind], range(0))) == []


@pytest.mark.parametrize("kind", ["copies", "reversed", "sentences"])
def test_sides_that_are_alike_cannot_be_swapped(kind: str) -> None:
    assert find(swap(ALIKE[kind], range(0, COUNT, 10))) == []


@pytest.mark.parametrize("kind", ["two languages", "two scripts", "phonemes"])
def test_pairs_in_one_language_are_found(kind: str) -> None:
    pairs = swap(SIDES[kind], range(0))
    copied = list(range(0, COUNT, 40))
    targets = [pairs.source[n] if n in copied else pairs.target[n] for n in range(COUNT)]
    (found,) = find(Pairs(pairs.source, targets, pairs.lines))
    assert "both sides seem to be in one language" in found.message
    assert list(found.lines) == [n + 1 for n in copied]


def test_the_finding_names_lines_and_examples() -> None:
    pairs = swap(SIDES["two languages"], range(4, 100, 6))
    told = str(find(pairs)[0])
    assert told.startswith(
        "x.tsv, line 5: source and target seem to be swapped in lines 5, 11, 17, 23, 29, 35, 41, 47, 53, 59 ..."
    )
    assert repr(pairs.source[4])[:30] in told
    assert told.endswith(" (16 times); swap them back.")
    assert "in pairs 5, 11," in str(find(pairs, "x.json")[0])
    assert find(pairs, "x.json")[0].line is None


def test_of_much_data_some_is_compared_and_the_finding_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swapped_sides, "MAX_COMPARED_PAIRS", 300)
    (found,) = find(swap(SIDES["two scripts"], range(4, 5)))
    assert "among 300 of the 400 pairs" in found.message


def test_few_pairs_tell_nothing() -> None:
    pairs = swap(SIDES["two scripts"], range(4, 5))
    assert find(pairs.take(range(19))) == []
    assert len(find(pairs.take(range(20)))) == 1


def test_a_pair_is_no_evidence_for_itself() -> None:
    """Evidence changes sign and place with the sides, because the models of a pair were learned from others."""
    pairs = swap(SIDES["two languages"], range(0))
    before = compare_sides(pairs.source, pairs.target)
    swapped = swap(SIDES["two languages"], range(7, 8))
    after = compare_sides(swapped.source, swapped.target)
    assert (before.source[7], before.target[7]) == pytest.approx((-after.target[7], -after.source[7]))
    others = np.arange(COUNT) != 7  # the second pass counts the pair the right way round
    assert after.source[others] == pytest.approx(before.source[others])


def test_the_doctor_finds_them(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    pairs = swap(SIDES["two languages"], range(9, COUNT, 30))
    file.write_text("".join(f"{left}\t{right}\n" for left, right in zip(pairs.source, pairs.target, strict=True)))
    (found,) = [each for each in examine({"train": Origin(file)}).findings if "swapped" in each.message]
    assert found.line == 10
