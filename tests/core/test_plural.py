"""Counts agree with their words."""

from seq2see.core.plural import say_count


def test_one_thing_is_no_things() -> None:
    assert [say_count(count, "pair") for count in (0, 1, 2_000)] == ["0 pairs", "1 pair", "2,000 pairs"]
