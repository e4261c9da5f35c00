"""The doctor: everything that hurts is found, with file, line and remedy, and nothing makes it stop."""

from pathlib import Path

import pytest

from seq2see.data.checks.data_doctor import Diagnosis, examine
from seq2see.data.checks.image_checks import describe_pairs
from seq2see.data.pairs import Finding, Origin

LETTERS = "abcdefghij"
GOOD = "".join(f"{a}{b} one\t{b}{a} two\n" for a in LETTERS for b in LETTERS)


def diagnose(folder: Path, **contents: str | bytes) -> Diagnosis:
    """Examine splits with these contents."""
    origins = {}
    for name, content in contents.items():
        file = folder / f"{name}.tsv"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        origins[name] = Origin(file)
    return examine(origins)


def find(diagnosis: Diagnosis, words: str) -> Finding:
    """The one finding whose message holds these words."""
    (found,) = [finding for finding in diagnosis.findings if words in finding.message]
    assert found.remedy
    assert "\n" not in str(found)
    return found


def test_good_data_has_no_findings(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD, test="one ab\ttwo ba\n")
    assert diagnosis.findings == []
    assert {name: len(pairs) for name, pairs in diagnosis.splits.items()} == {"train": 100, "test": 1}


@pytest.mark.parametrize(
    ("content", "words", "line"),
    [
        (GOOD.encode() + b"\xc3\xbc\xff\tx\n", "UTF-8", 101),
        ("a\tb\nc\n", "two columns", 2),
        ("", "empty", None),
    ],
)
def test_what_cannot_be_read_is_an_error_among_the_findings(
    tmp_path: Path, content: str | bytes, words: str, line: int | None
) -> None:
    diagnosis = diagnose(tmp_path, train=content, test="a\tb\n")
    assert diagnosis.errors == [find(diagnosis, words)]
    assert "train.tsv" in str(diagnosis.errors[0])
    assert line is None or f"line {line}:" in str(diagnosis.errors[0])
    assert list(diagnosis.splits) == ["test"]


def test_missing_files_and_other_lengths_are_errors_too(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\nb\n")
    (tmp_path / "a.de").write_text("a\n")
    diagnosis = examine(
        {
            "train": Origin(tmp_path / "a.en", tmp_path / "a.de"),
            "valid": Origin(tmp_path / "no.tsv"),
            "test": Origin(tmp_path),
        }
    )
    assert len(diagnosis.errors) == 3
    assert "got 2 in" in find(diagnosis, "as many lines").message
    assert find(diagnosis, "no such file")


def test_oddities_of_the_file_are_passed_on(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train="\ufeff" + GOOD.replace("\n", "\r\n") + "a\0b\ta\n\tc\nd\t\n")
    assert find(diagnosis, "byte order mark").line == 1
    assert find(diagnosis, "CRLF").count == 100
    assert find(diagnosis, "NUL").line == 101
    assert find(diagnosis, "the source is blank").line == 102
    assert find(diagnosis, "the target is blank").line == 103


def test_duplicates_and_contradictions_are_counted(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD + "ab one\tba two\nab one\tsomething\nab one\tba two\n")
    twice, torn = find(diagnosis, "the same pair"), find(diagnosis, "another target")
    assert (twice.line, twice.count, twice.level) == (101, 2, "note")
    assert (torn.line, torn.count) == (102, 1)


def test_leakage_is_measured(tmp_path: Path) -> None:
    leak = find(diagnose(tmp_path, train=GOOD, test="new\tx\nab one\tx\nba one\ty\nab two\tz\n"), "leakage")
    assert (leak.line, leak.count, leak.level) == (2, 2, "warning")
    assert "50.0%" in leak.message
    assert leak.file == tmp_path / "test.tsv"


def test_outliers_in_length_are_found(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD + f"{'a' * 300}\t{'b' * 300}\na\t{'b' * 90}\n")
    assert find(diagnosis, "over 200 characters, where 6 are usual").line == 101
    assert find(diagnosis, "differ oddly").line == 102


def test_a_few_characters_more_say_nothing_in_short_texts(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD + "a\tabcdef\nabcdefg\tb\n")  # six and seven times as long
    assert not any("differ oddly" in finding.message for finding in diagnosis.findings)
    long = "".join(f"{a}{b} {'one' * 20}\t{b}{a} {'two' * 20}\n" for a in LETTERS for b in LETTERS)
    odd = find(diagnose(tmp_path, train=f"{long}{'a' * 10}\t{'b' * 60}\n{'a' * 20}\t{'b' * 60}\n"), "differ oddly")
    assert (odd.line, odd.count) == (101, 1)  # (60 + 5) / (10 + 5) is more than four times the usual, 65 / 25 is not


def test_characters_and_words_that_training_does_not_show_are_named(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD + "abβ one\ta two\n", test="ab one\tba two\naβж one\tüber two\n")
    source, target = find(diagnosis, "source characters (2) that"), find(diagnosis, "target characters (")
    assert all(repr(character) in source.message for character in "βж")
    assert (source.line, source.level) == (2, "warning")
    assert "'ü'" in target.message
    own = find(diagnosis, "source characters (1) that")  # rare in training itself
    assert (own.file, own.line, own.level) == (tmp_path / "train.tsv", 101, "note")
    words = find(diagnosis, "of the source words never occur")
    assert words.message.startswith("25.0%")
    assert words.line == 2


def test_a_finding_about_one_side_names_the_file_of_that_side(tmp_path: Path) -> None:
    for name, text in [("a.en", "ab\n" * 5), ("a.de", "ba\n" * 5), ("t.en", "ab\nba\n"), ("t.de", "ba\nüb\n")]:
        (tmp_path / name).write_text(text)
    train, test = (Origin(tmp_path / f"{name}.en", tmp_path / f"{name}.de") for name in "at")
    diagnosis = examine({"train": train, "test": test})
    assert find(diagnosis, "target characters (1)").file == tmp_path / "t.de"
    assert find(diagnosis, "of the target words").file == tmp_path / "t.de"
    assert find(diagnosis, "of the source words").file == tmp_path / "t.en"


def test_one_pair_is_enough_to_be_examined(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train="a\tb\n", test="a\tb\n")
    assert not diagnosis.errors
    assert find(diagnosis, "leakage: 100.0%")
    assert describe_pairs(diagnosis.splits["train"]) == "1 usable pair"


def test_labels_in_the_place_of_sources_are_named(tmp_path: Path) -> None:
    content = "".join(f"{n % 2}\tthe text of number {n}\n" for n in range(20))
    assert find(diagnose(tmp_path, train=content), "as labels do ('0', '1')").level == "warning"


def test_several_labels_in_one_are_named(tmp_path: Path) -> None:
    labels = ["a", "b", "c", "a, b", "b, c", "a, c"]
    content = "text\tlabels\n" + "".join(f"text {n}\t{labels[n % 6]}\n" for n in range(24))
    assert 'separator: ","' in find(diagnose(tmp_path, train=content), "such as 'a, b'").remedy
    one = "text\tlabels\n" + "".join(f"text {n}\t{['pos', 'neg', 'pos|food'][n % 3]}\n" for n in range(24))
    assert 'separator: "|"' in find(diagnose(tmp_path, train=one), "such as 'pos|food'").remedy
    names = "text\tlabels\n" + "".join(f"text {n}\t{['Sport, other', 'news'][n % 2]}\n" for n in range(24))
    assert not any("several in one" in finding.message for finding in diagnose(tmp_path, train=names).findings)


def test_labels_that_differ_in_capitals_only_are_named(tmp_path: Path) -> None:
    labels = ["pos", "Pos", "neg", "POS"]
    content = "text\tlabel\n" + "".join(f"text {n}\t{labels[n % 4]}\n" for n in range(24))
    assert find(diagnose(tmp_path, train=content), "capitals only ('POS', 'Pos', 'pos')").level == "note"
    plain = content.replace("Pos", "pos").replace("POS", "pos")
    assert not any("capitals" in finding.message for finding in diagnose(tmp_path, train=plain).findings)


def test_lists_of_labels_are_several_whatever_they_hold(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    lists = ['["pos", "food"]', '["neg"]']
    file.write_text("".join(f'{{"text": "text {n}", "labels": {lists[n % 2]}}}\n' for n in range(24)))
    diagnosis = examine({"train": Origin(file)})
    assert 'separator: "|"' in find(diagnosis, "sources have lists of labels").remedy
    assert "24 usable texts of 3 classes, 12 each" in describe_pairs(diagnosis.splits["train"])


def test_a_label_without_another_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("text,label\n" + "".join(f"a text {n},pos\n" for n in range(30)))
    diagnosis = examine({"train": Origin(file)})
    assert describe_pairs(diagnosis.splits["train"]) == "30 usable texts of 1 class (pos)"
    messages = [str(finding) for finding in diagnosis.findings]
    assert any("all 30 sources have the label 'pos', and there must be another to choose" in each for each in messages)


def test_several_labels_are_known_one_by_one(tmp_path: Path) -> None:
    labels = ["x", "y", "z", "x|y", "y|z", "x|z"]
    train = "text\tlabels\n" + "".join(f"text {n}\t{labels[n % 6]}\n" for n in range(24))
    held_out = "text\tlabels\n" + "".join(f"other {n}\t{label}\n" for n, label in enumerate([" y|x", "z |y", "x"] * 8))
    findings = diagnose(tmp_path, train=train, test=held_out).findings
    assert not any("does not have" in finding.message for finding in findings)
    strange = held_out + "odd\tw|x\n"
    found = find(diagnose(tmp_path, train=train, test=strange), "labels (1) that the training data does not have")
    assert (found.line, "'w'" in found.message) == (26, True)


def test_letters_of_a_script_without_spaces_are_no_new_words(tmp_path: Path) -> None:
    train = "".join(f"{a}{b}狗在跑\t{b}{a} two\n" for a in "一二三四五六七八九十" for b in "一二三四五六七八九十")
    findings = diagnose(tmp_path, train=train, test="一一狗在跑跑\t一一 two\n").findings
    assert not any("never occur" in finding.message for finding in findings)


def make_lengths(*lengths: tuple[int, int]) -> str:
    """Pairs with so many characters on each side."""
    return "".join(f"{'a' * source}\t{'b' * target}\n" for source, target in lengths)


def test_what_is_too_long_depends_on_what_is_usual(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=make_lengths(*[(60, 50)] * 30, (400, 400), (601, 600)))
    found = find(diagnosis, "over 600 characters, where 60 are usual")
    assert (found.line, found.count) == (32, 1)


@pytest.mark.parametrize(
    "lengths",
    [
        [(15, 95)] * 50,  # one side is always longer
        [*[(95, 95)] * 60, *[(95, 395)] * 40, (15, 195)],  # lengths that differ much in general
    ],
)
def test_lengths_differ_oddly_only_beside_those_of_the_other_pairs(
    tmp_path: Path, lengths: list[tuple[int, int]]
) -> None:
    findings = diagnose(tmp_path, train=make_lengths(*lengths)).findings
    assert not any("differ oddly" in finding.message for finding in findings)


def test_a_character_many_times_in_one_text_is_still_rare(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, train=GOOD + "жжжжжжжж one\ta two\n")
    assert find(diagnosis, "source characters (1) that fewer than 5 training pairs have").line == 101


@pytest.mark.parametrize(("new", "found"), [(1, False), (2, True)])
def test_one_new_word_in_a_hundred_is_nothing_to_speak_of(tmp_path: Path, new: int, found: bool) -> None:
    test = "ab one\tba two\n" * (50 - new) + "bbb one\tba two\n" * new
    messages = [finding.message for finding in diagnose(tmp_path, train=GOOD, test=test).findings]
    assert any("2.0% of the source words never occur" in message for message in messages) == found
    assert any("words never occur" in message for message in messages) == found
