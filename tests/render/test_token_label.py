"""Labels show what is invisible and keep letters whole."""

import pytest

from seq2see.core.token import Token
from seq2see.render.token_label import are_characters, shorten, show_text, split_clusters


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" ", "␣"),
        ("", "∅"),
        ("a\tb\n", "a␉b␊"),
        ("\x1b[31m", "␛[31m"),
        ("\u202eabc", "abc"),
        ("\u200d", "∅"),
        ("می‌آموزم", "می‌آموزم"),
    ],
)
def test_invisible_becomes_visible(text: str, shown: str) -> None:
    assert show_text(text) == shown


def test_letters_stay_whole() -> None:
    assert split_clusters("हिन्दी") == ["हि", "न्", "दी"]
    assert split_clusters("e\u0301👍🏽👩‍💻🇮🇷🇫🇷中") == ["e\u0301", "👍🏽", "👩‍💻", "🇮🇷", "🇫🇷", "中"]


def test_marks_do_not_make_characters_into_words() -> None:
    letters = (Token("a", 0, 1), Token("हि", 1, 3), Token("</s>", 3, 3))
    assert are_characters(letters)
    assert not are_characters((*letters, Token("word", 3, 7)))


def test_shorten_counts_letters() -> None:
    assert shorten("abcd", limit=4) == "abcd"
    assert shorten("abcde", limit=4) == "abc…"
