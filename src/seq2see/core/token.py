"""A token as people see it: its text and where it stands in the raw text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """One token; `start:end` are character offsets into the raw text, equal for marks such as the end of text."""

    text: str
    start: int
    end: int
    confidence: float | None = None  # the model's probability of this token, on the target side
