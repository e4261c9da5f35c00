"""Numbers as people say them."""


def say_count(count: int, one: str) -> str:
    """How many there are of a thing: `1 pair`, `2,000 pairs`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"
