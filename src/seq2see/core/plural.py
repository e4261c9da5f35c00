"""Counts in messages."""


def say_count(count: int, one: str) -> str:
    """Return a count with its noun: `1 pair`, `2,000 pairs`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"
