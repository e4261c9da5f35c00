"""Unicode checks, and texts of others as they may be printed."""

import re
from unicodedata import category

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
JOINERS = "\u200c\u200d"  # Persian and Hindi spelling and emoji need them
BEYOND_LATIN = re.compile(r"[^ -~\xa1-\xac\xae-\u02af]")  # all controls are among these


def is_text(string: str) -> bool:
    """Tell whether a string can be written as UTF-8.

    Args:
        string: any string; one with lone surrogates, which come from undecodable bytes, cannot be written.
    """
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_controls(text: str, *, kept: str = "", most: int | None = None) -> str:
    """Return a text as it may be printed: nothing in it moves the cursor, clears the screen or turns the direction.

    Control characters become escapes, such as `\\x1b` and `\\u202e`.

    Args:
        text: a text that somebody else may have written.
        kept: control characters to keep, such as line ends.
        most: the largest number of characters; a longer text is cut and ends in an ellipsis; None cuts nothing.
    """
    cut = text if most is None or len(text) <= most else text[: most - 1]

    def escape(match: re.Match[str]) -> str:
        char = match[0]
        safe = char in JOINERS or char in kept or category(char) not in CONTROLS
        return char if safe else char.encode("unicode_escape").decode()

    return BEYOND_LATIN.sub(escape, cut) + ("" if cut is text else "…")
