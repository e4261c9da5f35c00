"""A token as it is shown: its text and its place in the raw text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """Is one token of a text.

    Args:
        text: the token's characters, or the name of a special token.
        start: the character offset in the raw text where it begins.
        end: the offset behind its last character; equal to `start` for special tokens such as the end of text.
        confidence: the model's probability of this token, 0 to 1, for an output; None for a source.
        unknown: whether the vocabulary lacks the text of the token, which is then read as the unknown token.
    """

    text: str
    start: int
    end: int
    confidence: float | None = None
    unknown: bool = False
