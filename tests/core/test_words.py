"""Words as people count them: with spaces or without, whatever few letters of another script stand between."""

import pytest

from seq2see.core.words import choose_unit, find_words, has_spaces


@pytest.mark.parametrize(
    ("texts", "spaced"),
    [
        (["the dog is called 狗 here", "no"], True),
        (["狗", "a long text in letters that stand for sounds"], True),  # all texts together, not any of them
        (["ab", "狗犬"], True),  # half of all letters
        (["a", "狗犬"], False),
        (["สวัสดี ok"], False),
        (["ありがとう", "カタカナ", "thanks"], False),
        (["감사 합니다"], True),
        (["één"], True),
        ([], True),
    ],
)
def test_most_letters_decide_whether_words_have_spaces(texts: list[str], spaced: bool) -> None:
    assert has_spaces(texts) == spaced


def test_a_side_is_counted_in_words_if_it_has_a_space_for_every_twenty_characters() -> None:
    assert choose_unit(["a" * 9, "b" * 9 + " " + "c"]) == "words"  # 20 characters
    assert choose_unit(["a" * 10, "b" * 9 + " " + "c"]) == "characters"  # 21
    assert choose_unit([" a ", " b "]) == "characters"  # spaces around a word are between no words
    assert choose_unit([]) == "characters"


def test_words_and_characters_are_found_where_they_stand() -> None:
    text = " ab\u0301  c狗\n"
    assert find_words(text, "words") == [(1, 4), (6, 8)]
    assert find_words(text, "characters") == [(1, 2), (2, 4), (6, 7), (7, 8)]  # an accent belongs to its letter
    assert find_words("\u0301a", "characters") == [(0, 1), (1, 2)]
    assert find_words("", "words") == find_words("", "characters") == []
