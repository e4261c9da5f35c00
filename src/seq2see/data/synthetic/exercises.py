"""The exercises of the Neural Turing Machine (Graves et al. 2014, arXiv:1410.5401), as pairs of lines of symbols."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from seq2see.core.errors import DataError
from seq2see.core.registry import suggest

Pair = tuple[str, str]

SYMBOLS = "abcdefghijklmnopqrst"
MAX_REPEATS = 5  # of a sequence in repeat-copy
ITEM_SYMBOLS = 3  # of an item in recall


@dataclass(frozen=True)
class Exercise:
    """One exercise of the Neural Turing Machine.

    Args:
        write: makes a pair of a given length.
        lengths: the shortest and the longest of the training data, by default.
        least: the shortest length that makes sense.
    """

    write: Callable[[int, Random], Pair]
    lengths: tuple[int, int]
    least: int = 1


def write_copy(length: int, random: Random) -> Pair:
    """Make a pair of copy: the target repeats the source (section 4.1).

    Args:
        length: the number of symbols.
        random: the source of all choices.
    """
    symbols = _join(random.choices(SYMBOLS, k=length))
    return symbols, symbols


def write_repeat_copy(length: int, random: Random) -> Pair:
    """Make a pair of repeat-copy: the target repeats the symbols once for each star behind them (section 4.2).

    Args:
        length: the number of symbols that are repeated.
        random: the source of all choices.
    """
    symbols, times = random.choices(SYMBOLS, k=length), random.randint(1, MAX_REPEATS)
    return _join([*symbols, *"*" * times]), _join(symbols * times)


def write_recall(length: int, random: Random) -> Pair:
    """Make a pair of associative recall: the target is the item after the one that the source names (section 4.3).

    Args:
        length: the number of items, at least 2; each has three symbols.
        random: the source of all choices.
    """
    items: list[str] = []
    while len(items) < length:  # all different, so that there is one answer
        item = _join(random.choices(SYMBOLS, k=ITEM_SYMBOLS))
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
    """Make the pairs of each split, no source in two of them.

    Args:
        name: copy, repeat-copy or recall.
        lengths: the shortest and the longest sequence; None takes those of the exercise.
        train: number of training pairs.
        valid: number of validation pairs.
        test: number of test pairs.
        longer: number of further test pairs of twice the greatest length.
        seed: of all random choices.
    """
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
    """Return the exercise of a name.

    Args:
        name: copy, repeat-copy or recall.

    Raises:
        DataError: there is no such exercise.
    """
    if name not in EXERCISES:
        known = ", ".join(EXERCISES)
        raise DataError(f"there is no exercise named {name!r}{suggest(name, list(EXERCISES))} (known: {known}).")
    return EXERCISES[name]


def _draw(exercise: Exercise, lengths: tuple[int, int], count: int, random: Random, seen: set[str]) -> list[Pair]:
    """Draw pairs whose sources are in no other split."""
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
