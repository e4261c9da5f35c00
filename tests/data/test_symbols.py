"""Texts of symbols between spaces are told from names, dates, numbers and sentences, whatever writes them."""

from collections.abc import Callable
from random import Random

import pytest

from seq2see.data.checks.symbols import find_symbols, looks_like_symbol


def words(text: str) -> list[str]:
    return text.split()


COUNT = 300
CONSONANTS, VOWELS = words("B CH D F G HH K L M N P R S SH T Z"), words("AA AE AH EY IH IY OW UW")
ONES = words("zero one two three four five six seven eight nine")
TENS = words("ten twenty thirty forty fifty sixty seventy eighty ninety")
MONTHS = words("January February March April May June July August September October November December")
WORDS = ["".join(Random(n).choices("abdeiklmnorstu", k=n % 7 + 2)) for n in range(900)]
GRAMMAR = {word: Random(word).choice(words("noun verb adjective adverb")) for word in WORDS}
ENTITIES = {word: Random(word).choice(words("O O B-PER I-PER B-LOC")) for word in WORDS}


def pronounce(random: Random) -> str:
    syllables = ((random.choice(CONSONANTS), random.choice(VOWELS) + random.choice("012")) for _ in range(4))
    return " ".join(sound for syllable in list(syllables)[: random.randint(1, 4)] for sound in syllable)


def write_words(random: Random) -> str:
    return " ".join(random.choices(WORDS, [1 / (n + 1) for n in range(len(WORDS))], k=random.randint(3, 9)))


def command(random: Random, actions: str) -> str:
    return " ".join(f"{action} " * random.randint(1, 4) for action in random.choices(actions.split(), k=3))


def spell_number(random: Random) -> str:
    return f"{random.choice(ONES)} hundred and {random.choice(TENS)} {random.choice(ONES)}"


def write_date(random: Random) -> tuple[int, str, int]:
    return random.randint(1, 28), random.choice(MONTHS), random.randint(1960, 1999)


SYMBOLS: dict[str, Callable[[Random], str]] = {
    "phonemes": pronounce,
    "phonemes in lower case": lambda random: pronounce(random).lower(),
    "IPA": lambda random: " ".join(random.choices(words("k æ t ʃ aɪ iː d n tʃ eɪ ə"), k=random.randint(2, 8))),
    "commands": lambda random: command(random, "I_WALK I_JUMP I_TURN_LEFT I_TURN_RIGHT"),
    "commands in plain words": lambda random: command(random, "walk jump left right"),
    "tags of the Penn Treebank": lambda random: " ".join(random.choices(words("DT NN VBZ PRP$ , ."), k=6)),
    "bits": lambda random: " ".join(random.choices("01", k=8)),
}
OTHERS: dict[str, Callable[[Random], str]] = {
    "numbers in words": spell_number,
    "digits in words": lambda random: " ".join(random.choices(ONES, k=8)),
    "dates": lambda random: "{} {} {}".format(*write_date(random)),
    "dates in capitals": lambda random: "{} {} {}".format(*write_date(random)).upper(),
    "dates of numbers": lambda random: f"{random.randint(10, 28)} {random.randint(10, 12)} {random.randint(60, 99)}",
    "dates with a weekday": lambda random: "Thu, {1} {0}, {2}".format(*write_date(random)),
    "names": lambda random: " ".join(random.choices(MONTHS, k=2)),
    "names in capitals": lambda random: " ".join(random.choices(MONTHS, k=3)).upper(),
    "sentences": write_words,
    "one word": lambda random: random.choice(WORDS),
    "nothing": lambda random: "",
    "telephone numbers": lambda random: f"+{random.randint(30, 39)} {random.randint(100, 109)} {random.randint(0, 9)}",
}


def write(kind: Callable[[Random], str]) -> list[str]:
    return [kind(Random(number)) for number in range(COUNT)]


@pytest.mark.parametrize("kind", SYMBOLS)
def test_symbols_are_found(kind: str) -> None:
    texts = write(SYMBOLS[kind])
    found = find_symbols(texts, sources=[str(number) for number in range(COUNT)])
    assert found is not None
    all_words = [word for text in texts for word in text.split()]
    assert (found.count, found.words) == (len(set(all_words)), len(all_words))
    assert set(found.some) <= set(all_words)


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("source", ["dates", "sentences"])
def test_other_texts_are_none(kind: str, source: str) -> None:
    assert find_symbols(write(OTHERS[kind])) is None
    assert find_symbols(write(OTHERS[kind]), sources=write(OTHERS[source])) is None


@pytest.mark.parametrize("tags", [GRAMMAR, ENTITIES])
def test_one_tag_for_each_word_is_a_symbol_in_any_spelling(tags: dict[str, str]) -> None:
    sentences = write(write_words)
    tagged = [" ".join(tags[word] for word in text.split()) for text in sentences]
    assert find_symbols(tagged, sources=sentences) is not None
    if tags is GRAMMAR:
        assert find_symbols(tagged, sources=sentences[1:] + sentences[:1]) is None  # the tags of other sentences


def test_symbols_must_have_come_again_and_again() -> None:
    texts = write(pronounce)
    assert find_symbols(texts[:3]) is None
    new = [f"{text} X{number}" for number, text in enumerate(texts)]  # each text brings a symbol of its own
    assert find_symbols(new) is None


OF_LANGUAGES = [(word, False) for word in ("17", "1979", "MÜLLER", "May", "你好", "walk", "12:30", "man's", "New-York")]


@pytest.mark.parametrize(
    ("word", "told"),
    [(word, True) for word in ("AE1", "NN", "I_RUN", "B-PER", "<eos>", "ʃ", "tʃ", "k", "7", ",")] + OF_LANGUAGES,
)
def test_what_looks_like_a_symbol(word: str, told: bool) -> None:
    assert looks_like_symbol(word) is told
