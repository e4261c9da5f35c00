"""Exercises for a memory: copy, copy several times, recall what came next; as pairs of lines of symbols."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from seq2see.core.errors import DataError
from seq2see.core.registry import suggest

Pair = tuple[str, str]

SYMBOLS = "abcdefghijklmnopqrst"
REPEATS = 5  # the most often that a sequence is to be repeated
ITEM = 3  # symbols of an item that is to be recalled


@dataclass(frozen=True)
class Exercise:
    """How one pair of a given length is written, and the lengths to learn from unless somebody says otherwise."""

    write: Callable[[int, Random], Pair]
    lengths: tuple[int, int]
    least: int = 1  # the shortest that makes sense


def write_copy(length: int, random: Random) -> Pair:
    """Graves et al. 2014, section 4.1: the symbols once more."""
    symbols = _join(random.choices(SYMBOLS, k=length))
    return symbols, symbols


def write_repeat_copy(length: int, random: Random) -> Pair:
    """Graves et al. 2014, section 4.2: the symbols as many times as there are stars behind them."""
    symbols, times = random.choices(SYMBOLS, k=length), random.randint(1, REPEATS)
    return _join([*symbols, *"*" * times]), _join(symbols * times)


def write_recall(length: int, random: Random) -> Pair:
    """Graves et al. 2014, section 4.3: of so many items of three symbols, the one after the item that is asked for."""
    items: list[str] = []
    while len(items) < length:  # all different, so that there is one answer
        item = _join(random.choices(SYMBOLS, k=ITEM))
        items += [] if item in items else [item]
    asked = random.randrange(length - 1)
    return f"{' | '.join(items)} ? {items[asked]}", items[asked + 1]


EXERCISES = {
    "copy": Exercise(write_copy, (1, 20)),
    "repeat-copy": Exercise(write_repeat_copy, (1, 10)),
    "recall": Exercise(write_recall, (2, 6), least=2),
}


def make_exercises(
    name: str, *, lengths: tuple[int, int] | None = None, train: int, valid: int, test: int, longer: int, seed: int
) -> dict[str, list[Pair]]:
    """Pairs of each split, no source in two of them; those of `longer` have twice the greatest length of the others."""
    exercise = find_exercise(name)
    low, high = lengths or exercise.lengths
    if not exercise.least <= low <= high:
        raise DataError(
            f"the lengths of {name} must be two numbers, the first at least {exercise.least} and no more than the "
            f"second; got {low}..{high}."
        )
    seen: set[str] = set()
    spans = {"longer": (2 * high, longer), "test": (high, test), "valid": (high, valid), "train": (high, train)}
    made = {}
    for split, (most, count) in spans.items():  # the held-out ones first: short sequences are soon used up
        random = Random(f"{seed} {name} {split}")
        made[split] = _draw(exercise, (most if split == "longer" else low, most), count, random, seen)
    return {split: made[split] for split in ("train", "valid", "test", "longer")}


def find_exercise(name: str) -> Exercise:
    """The exercise of a name."""
    if name not in EXERCISES:
        known = ", ".join(EXERCISES)
        raise DataError(f"there is no exercise named {name!r}{suggest(name, list(EXERCISES))} (known: {known}).")
    return EXERCISES[name]


def _draw(exercise: Exercise, lengths: tuple[int, int], count: int, random: Random, seen: set[str]) -> list[Pair]:
    """So many pairs with sources that nobody has seen."""
    pairs: list[Pair] = []
    for _ in range(20 * count):
        if len(pairs) == count:
            break
        source, target = exercise.write(random.randint(*lengths), random)
        if source not in seen:
            pairs.append((source, target))
            seen.add(source)
    if len(pairs) < count:
        raise DataError(
            f"there are too few different sequences of length {lengths[0]}..{lengths[1]} for {count:,} pairs; allow "
            "longer ones."
        )
    return pairs


def _join(symbols: list[str]) -> str:
    return " ".join(symbols)
