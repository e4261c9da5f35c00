"""Pairs: taken by row, grouped by source and taken apart again, with nothing lost on the way."""

from dataclasses import replace
from pathlib import Path

from seq2see.data.pairs import Finding, Origin, Pairs

PAIRS = Pairs(["p", "q", "p", "p", "q"], ["a", "b", "c", "a", "d"], [1, 2, 3, 4, 5], labels=False)


def test_a_source_keeps_all_targets_also_those_that_are_said_twice() -> None:
    grouped = PAIRS.group()
    assert (list(grouped.source), list(grouped.lines)) == (["p", "q"], [1, 2])
    assert grouped.references == [["a", "c", "a"], ["b", "d"]]
    assert PAIRS.references == [["a"], ["b"], ["c"], ["a"], ["d"]]
    assert grouped.take([1]).references == [["b", "d"]]


def test_what_was_grouped_is_taken_apart_again() -> None:
    again = PAIRS.group().ungroup()
    assert list(zip(again.source, again.target, strict=True)) == [
        ("p", "a"), ("p", "c"), ("p", "a"), ("q", "b"), ("q", "d"),
    ]  # fmt: skip
    assert again.labels is False


def test_rows_are_taken_in_the_order_asked_for() -> None:
    taken = replace(PAIRS, separator="|").take([4, 0])
    assert (taken.source, taken.target, taken.lines) == (["q", "p"], ["d", "a"], [5, 1])
    assert (taken.labels, taken.separator) == (False, "|")
    assert not Pairs(["a"], ["b"]).take([0]).lines


def test_a_list_of_targets_is_what_stands_in_one_line() -> None:
    pairs = Pairs(["p", "p", "q", "p"], ["a", "b", "c", "d"], [1, 1, 2, 3])
    assert pairs.group_lists().references == [["a", "b"], ["c"], ["d"]]
    assert PAIRS.group_lists() is PAIRS  # no line has two
    unknown = Pairs(["p", "p"], ["a", "b"])
    assert unknown.group_lists() is unknown


def test_a_finding_is_one_sentence_with_its_place_and_count() -> None:
    file = Path("x.tsv")
    assert str(Finding("note", "odd", "mend it")) == "odd; mend it."
    assert str(Finding("note", "odd", "mend it", file, count=2)) == "x.tsv: odd (2 times); mend it."
    assert str(Finding("note", "odd", "mend it", file, 3)) == "x.tsv, line 3: odd; mend it."


def test_an_origin_knows_its_files() -> None:
    one, two = Origin(Path("a.tsv.GZ")), Origin(Path("a.en"), Path("a.de"))
    assert (one.holding("target"), two.holding("source"), two.holding("target")) == (
        Path("a.tsv.GZ"), Path("a.en"), Path("a.de"),
    )  # fmt: skip
    assert [Origin(Path(name)).has_lines for name in ("a.TSV", "a.jsonl.gz", "a.json", "folder")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert two.has_lines
    assert str(two) == "a.en and a.de"
