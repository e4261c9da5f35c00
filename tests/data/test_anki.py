"""Exports of Anki and sentences of Tatoeba with attributions are read; other third columns are asked for."""

from pathlib import Path

import pytest

from seq2see.core.errors import DataError
from seq2see.data.formats.anki import strip_html
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Finding, Origin

BY = "CC-BY 2.0 (France) Attribution: tatoeba.org #2083030 (CK) & #4746184 (mahdiye)"
Fields = tuple[str, str] | None


def read(
    folder: Path, content: str, name: str = "x.txt", fields: Fields = None
) -> tuple[list[tuple[int, str, str]], list[Finding]]:
    """The rows of a file with this content, and the findings."""
    (folder / name).write_text(content, encoding="utf-8")
    pairs, findings = read_pairs(Origin(folder / name, fields=fields))
    return list(zip(pairs.lines, pairs.source, pairs.target, strict=True)), findings


@pytest.mark.parametrize("name", ["x.txt", "x.tsv"])
def test_a_column_of_attributions_is_left_out(tmp_path: Path, name: str) -> None:
    rows, (found,) = read(tmp_path, f"Go.\tGeh.\t{BY}\nHi.\tHallo.\t{BY}\nHi.\tGrüß Gott.\t{BY}\n", name)
    assert rows == [(1, "Go.", "Geh."), (2, "Hi.", "Hallo."), (3, "Hi.", "Grüß Gott.")]
    assert (found.level, found.line, found.count) == ("note", 1, 3)
    assert "third column with attributions, such as 'CC-BY 2.0 (France)" in str(found)
    assert str(found).endswith("it is left out.")


def test_some_lines_may_have_no_attribution(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, f"Go.\tGeh.\t{BY}\nHi.\tHallo.\nNo.\tNein.\t{BY}\n")
    assert rows == [(1, "Go.", "Geh."), (2, "Hi.", "Hallo."), (3, "No.", "Nein.")]


def test_attributions_may_be_named_as_a_column(tmp_path: Path) -> None:
    rows, found = read(tmp_path, f"Go.\tGeh.\t{BY}\nHi.\tHallo.\t{BY}\n", fields=("2", "1"))
    assert rows == [(1, "Geh.", "Go."), (2, "Hallo.", "Hi.")]
    assert found == []


@pytest.mark.parametrize("third", ["0-0 1-1", "a third text"])
def test_another_third_column_is_a_question(tmp_path: Path, third: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, f"a\tb\t{third}\nc\td\t{third}\n", "x.tsv")
    assert str(caught.value) == (
        f"{tmp_path / 'x.tsv'}, line 1: it must be clear which of 3 columns hold source and target; got 'a', 'b', "
        f"{third!r}; name them with --fields SOURCE,TARGET, such as --fields 1,2, or by the names that a header gives "
        "them."
    )


def test_one_line_with_a_tab_too_many_is_still_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: every line needs two columns"):
        read(tmp_path, "a\tb\nc\td\te\nf\tg\n", "x.tsv")


def test_settings_and_html_of_an_export_are_read(tmp_path: Path) -> None:
    notes = "<b>Tom</b> &amp; Jane\tTom<br>und Jane [sound:a.mp3]\n1 &lt; 2\teins&nbsp;kleiner\n"
    rows, (found,) = read(tmp_path, f"#separator:tab\n#html:true\n{notes}")
    assert rows == [(3, "Tom & Jane", "Tom und Jane"), (4, "1 < 2", "eins kleiner")]
    assert (found.line, found.count, found.level) == (3, 2, "note")


def test_quoted_fields_of_an_export_may_hold_line_ends(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, '#separator:tab\n#html:false\n"a ""b""\nc"\td\n<e>\tf\n')
    assert rows == [(3, 'a "b"\nc', "d"), (5, "<e>", "f")]


@pytest.mark.parametrize(("separator", "sign"), [("Semicolon", ";"), ("pipe", "|"), ("|", "|"), ("comma", ",")])
def test_the_separator_has_a_name_or_is_itself_there(tmp_path: Path, separator: str, sign: str) -> None:
    assert read(tmp_path, f"#separator:{separator}\na{sign}b\nc{sign}d\n")[0] == [(2, "a", "b"), (3, "c", "d")]


def test_columns_of_its_own_are_left_out_and_names_are_a_header(tmp_path: Path) -> None:
    head = "#separator:tab\n#html:true\n#guid column:1\n#tags column:4\n#columns:GUID\tVorne\tHinten\tTags\n"
    rows, findings = read(tmp_path, head + "x1\thello\thallo\tA1\nx2\tdog\tHund\t\n")
    assert rows == [(6, "hello", "hallo"), (7, "dog", "Hund")]
    assert any("source is taken from 'Vorne' and target from 'Hinten'" in str(each) for each in findings)
    assert any("columns of Anki's own (guid, tags)" in str(each) for each in findings)
    for fields in (("Hinten", "Vorne"), ("3", "2")):
        assert read(tmp_path, head + "x1\thello\t<b>hallo</b>\tA1\n", fields=fields)[0] == [(6, "hallo", "hello")]


def test_more_fields_of_an_export_are_a_question(tmp_path: Path) -> None:
    head = "#separator:tab\n#columns:Wort\tBild\tSatz\n"
    with pytest.raises(DataError, match="'Wort', 'Bild', 'Satz'; name them with --fields"):
        read(tmp_path, head + "a\tb\tc\nd\te\tf\n")
    assert read(tmp_path, head + "a\tb\tc\nd\te\tf\n", fields=("Wort", "Satz"))[0] == [(3, "a", "c"), (4, "d", "f")]


def test_a_line_that_begins_with_a_number_sign_is_text(tmp_path: Path) -> None:
    assert read(tmp_path, "#1\tfirst\n#html\tmarkup\n")[0] == [(1, "#1", "first"), (2, "#html", "markup")]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("<div>a</div><div>b</div>", "a b"),
        ('<span style="color: red">r</span>ot', "rot"),
        ("&lt;b&gt;", "<b>"),
        ("[1] plain", "[1] plain"),
    ],
)
def test_tags_are_taken_off_and_other_signs_stay(field: str, text: str) -> None:
    assert strip_html(field) == text
