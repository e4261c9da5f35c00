"""Counts in messages."""


def say_count(count: int, one: str) -> str:
    """Return a count with its noun: `1 pair`, `2,000 pairs`.

    Args:
        count: how many there are.
        one: the noun in the singular; the plural adds an s.
    """
    return f"{count:,} {one}{'' if count == 1 else 's'}"
