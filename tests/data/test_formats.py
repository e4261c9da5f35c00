"""Readers: files as people have them become pairs, each with the right line, or one sentence that says what to do."""

import gzip
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from seq2see.core.errors import DataError
from seq2see.data.formats.encodings import decode
from seq2see.data.formats.file_bytes import read_bytes
from seq2see.data.formats.lines import split_lines
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Finding, Origin, Pairs
from seq2see.data.sentence_splitter import split_sentences


def read(
    folder: Path, content: str | bytes, name: str = "x.tsv", fields: Any = None, target: str | bytes | None = None
) -> tuple[list[tuple[int, str, str]], list[Finding]]:
    """The rows of a file with this content, and the findings."""
    origin = Origin(put(folder / name, content), None if target is None else put(folder / "target.txt", target), fields)
    pairs, findings = read_pairs(origin)
    return list(zip(pairs.lines, pairs.source, pairs.target, strict=True)), findings


def put(file: Path, content: str | bytes) -> Path:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refuse(folder: Path, content: str | bytes, *args: Any, **options: Any) -> str:
    """The one sentence that a file is refused with."""
    with pytest.raises(DataError) as caught:
        read(folder, content, *args, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


AB = [(1, "a", "b"), (2, "c", "d")]


@pytest.mark.parametrize(
    ("content", "odd"),
    [
        ("a\tb\nc\td\n", []),
        ("a\tb\nc\td", []),
        ("a\tb\r\nc\td\r\n", [("CRLF", 1, 2)]),
        ("a\tb\nc\td\r\r\n", [("CRLF", 2, 1)]),
        ("a\tb\rc\td\r", [("Macintosh", 1, 1)]),
        ("\ufeffa\tb\nc\td\n", [("byte order mark", 1, 1)]),
        ("a\tb\n\ufeffc\td\n", [("byte order mark", 2, 1)]),
        ("a\tb\t\nc\td\t \n", []),
    ],
)
def test_line_ends_and_byte_order_marks_are_named_and_harmless(tmp_path: Path, content: str, odd: list[Any]) -> None:
    rows, findings = read(tmp_path, content)
    assert rows == AB
    assert [(f.line, f.count) for f in findings] == [(line, count) for _, line, count in odd]
    assert all(word in f.message for f, (word, _, _) in zip(findings, odd, strict=True))


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1d", "\x1e"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, separator: str) -> None:
    text = f"a{separator}x"
    rows, findings = read(tmp_path, f"a\tb\n{text}\tq\n")
    assert rows == [(1, "a", "b"), (2, text, "q")]
    assert [f.line for f in findings] == [2]
    rows, _ = read(tmp_path, f"{text}\nb\n", target="x\ny\n")
    assert [line for line, _, _ in rows] == [1, 2]


def test_nul_and_carriage_returns_inside_a_line_become_spaces(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, "a\tb\nc\0c\td\rd\r\n")
    assert rows == [(1, "a", "b"), (2, "c c", "d d")]
    assert {f.line for f in findings} == {2}
    assert {f.message.split(" ")[1] for f in findings} == {"line", "carriage", "NUL"}


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "webp", "tiff", "bmp"])
def test_an_image_is_no_text_in_another_encoding(tmp_path: Path, kind: str) -> None:
    Image.effect_noise((40, 40), 90).convert("RGB").save(tmp_path / "x.tsv", format=kind)
    with pytest.raises(DataError, match=rf"(?i)got an image \({kind}\); where images are read, give its path"):
        read_pairs(Origin(tmp_path / "x.tsv"))


def test_an_archive_is_no_text_in_another_encoding(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.csv", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", os.urandom(300))
    with pytest.raises(DataError, match=r"got a zip archive, as \.xlsx and \.docx are; unpack it"):
        read_pairs(Origin(tmp_path / "x.csv"))
    assert read(tmp_path, "GIF89a\tBM\n")[0] == [(1, "GIF89a", "BM")]


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, "a\tb\r\nü\u2028\tb\n".encode() + b"c\t\xe9\xe8\n")
    assert "x.tsv, line 3: text must be UTF-8; got the bytes e9;" in sentence


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_encodings_without_a_mark_must_be_named(tmp_path: Path, encoding: str) -> None:
    content = "ein\tone\nzwei\ttwo\n".encode(encoding)
    assert "looks like UTF-16; save it as UTF-8" in refuse(tmp_path, content)
    put(tmp_path / "x.tsv", content)
    assert list(read_pairs(Origin(tmp_path / "x.tsv", encoding=encoding))[0].source) == ["ein", "zwei"]


@pytest.mark.parametrize(
    ("encoding", "told"), [("utf-16", "utf-16"), ("utf-32", "utf-32"), ("cp1252", "cp1252"), ("latin-1", "cp1252")]
)
def test_an_encoding_is_guessed_and_the_guess_is_told(tmp_path: Path, encoding: str, told: str) -> None:
    rows, findings = read(tmp_path, "süß\tsweet\nschön\tnice\n".encode(encoding))
    assert rows == [(1, "süß", "sweet"), (2, "schön", "nice")]
    assert [(f.level, f.message) for f in findings] == [
        ("warning", f"the text is not UTF-8, and is read as {told}"),
    ]
    assert "--encoding" in findings[0].remedy


@pytest.mark.parametrize(
    ("text", "encoding"), [("слово\tword\nещё слова\tmore words\n", "cp1251"), ("言葉\tword\n" * 9, "shift_jis")]
)
def test_other_scripts_need_the_name_of_their_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    assert "name its encoding" in refuse(tmp_path, text.encode(encoding))
    pairs, findings = read_pairs(Origin(put(tmp_path / "x.tsv", text.encode(encoding)), encoding=encoding))
    assert list(pairs.source) == [line.split("\t")[0] for line in text.splitlines()]
    assert findings == []


def test_binary_data_and_unknown_encodings_are_refused(tmp_path: Path) -> None:
    assert "got binary data" in refuse(tmp_path, bytes(range(256)) * 9)
    for name in ("klingon", "hex", "a\0b"):
        with pytest.raises(DataError, match="an encoding must be one that Python knows"):
            read_pairs(Origin(put(tmp_path / "x.tsv", "a\tb\n"), encoding=name))
    with pytest.raises(DataError, match="line 2: text must be ascii; got the bytes c3; name another encoding"):
        read_pairs(Origin(put(tmp_path / "x.tsv", "a\tb\né\te\n"), encoding="ascii"))


@pytest.mark.parametrize("content", ["", "\n", " \n\t \r\n", "\ufeff", "\ufeff\r\n", "\u3000\t\u00a0\n"])
@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.jsonl"])
def test_a_file_without_text_is_called_empty(tmp_path: Path, content: str, name: str) -> None:
    assert f"{name}: the file is empty" in refuse(tmp_path, content, name)


def test_a_missing_file_a_folder_and_an_impossible_path_are_told_apart(tmp_path: Path) -> None:
    for path, expected in [
        (tmp_path / "missing.tsv", "there is no such file; check the path."),
        (tmp_path / "missing", "there is no such file; check the path."),
        (tmp_path, "this folder holds no data: neither train.jsonl"),
        (put(tmp_path / "x.tsv", "a") / "y.tsv", "the file cannot be read: Not a directory; check"),
        (tmp_path / ("x" * 300 + ".tsv"), "the file cannot be read: File name too long; check"),
        (tmp_path / "a\0b.tsv", "the file cannot be read: embedded null byte; check"),
    ]:
        with pytest.raises(DataError) as caught:
            read_pairs(Origin(path))
        assert f"{path}: {expected}".replace("\0", r"\x00") in str(caught.value)


def test_missing_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_permission(*_: object) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Path, "open", refuse_permission)  # the tests may run as root, whom nothing is refused
    with pytest.raises(DataError, match=r"x.tsv: the file cannot be read: Permission denied; check"):
        read_pairs(Origin(tmp_path / "x.tsv"))


@pytest.mark.parametrize("name", ["x.tsv.gz", "x.TSV.GZ", "x.tsv"])
def test_gzip_is_unpacked_whatever_the_name(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, gzip.compress(b"a\tb\nc\td\n"), name)[0] == AB
    assert read(tmp_path, b"a\tb\nc\td\n", name)[0] == AB


@pytest.mark.parametrize("damage", [slice(0, -9), slice(0, 20), "flip", "length"])
def test_damaged_gzip_is_named(tmp_path: Path, damage: Any) -> None:
    packed = bytearray(gzip.compress(b"".join(b"%d\t%d\n" % (n, n * n) for n in range(999))))
    if isinstance(damage, slice):
        packed = packed[damage]
    else:
        place = 100 if damage == "flip" else -1
        packed[place] ^= 0xFF
    assert "x.tsv.gz: the file is damaged: " in refuse(tmp_path, bytes(packed), "x.tsv.gz")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.tsv", "a\n", "line 1: every line needs two columns with a tab between them; got 1; write a tab"),
        ("x.tsv", "a\tb\n\nc\n", "line 3: every line needs two columns with a tab between them; got 1;"),
        ("x.tsv", "a\tb\tc\n", "line 1: it must be clear which of 3 columns hold source and target"),
        ("x.csv", "a,b\r\nc, d,e\r\n", "line 2: every line needs two columns with a comma between them; got 3; put"),
        ("x.csv", "source,target\nc, d,e\n", "line 2: every line needs two columns"),
        ("x.csv", "a;b\nc\n", "line 2: every line needs two columns with a semicolon"),
        ("x.csv", 'a,b\n"c,d\ne,f\n', "line 2: this is not CSV: unexpected end of data; check the quotes."),
        ("x.csv", 'a,b\n"c\nc",d\n"x"y,z\n', "line 4: this is not CSV"),
        ("x.tsv", "source\ttarget\n", "there is not one pair with text on both sides"),
        ("x.tsv", "a\t\n\tb\n", "there is not one pair with text on both sides"),
        ("x.en", "a\tb\n", "x.en: a file with both sides must end in .tsv"),
        ("x", "a\tb\n", "x: a file with both sides must end in .tsv"),
    ],
)
def test_wrong_columns_are_refused_with_line_and_remedy(tmp_path: Path, name: str, content: str, expected: str) -> None:
    assert expected in refuse(tmp_path, content, name)


def test_csv_holds_commas_quotes_and_line_ends_and_counts_them(tmp_path: Path) -> None:
    content = 'source,target\r\n"a\r\nb, c",d\r\n\r\n"g ""h""",i\r\n,j\r\nk,""\r\n'
    rows, findings = read(tmp_path, content, "x.csv")
    assert rows == [(2, "a\nb, c", "d"), (5, 'g "h"', "i")]
    places = {f.message.partition(" but")[0]: f.line for f in findings}
    assert places["the source is blank"] == 6
    assert places["the target is blank"] == 7
    assert places["a blank line"] == 4


def test_csv_with_semicolons_and_texts_of_any_length(tmp_path: Path) -> None:
    long = "x" * 200_000
    assert read(tmp_path, f'"a, b";"{long}"\n', "x.csv")[0] == [(1, "a, b", long)]


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("\n\nsource\ttarget\na\tb\n", None, (4, "a", "b")),
        ("Target\tSource\na\tb\n", None, (2, "b", "a")),
        ("id\tsource\ttarget\n1\ta\tb\n", None, (2, "a", "b")),
        ("id\tde\ten\n1\ta\tb\n", ("en", "de"), (2, "b", "a")),
        ("\ufeffde\ten\r\na\tb\r\n", ("de", "en"), (2, "a", "b")),
        ("de\ten\tnote\na\tb\n", ("de", "en"), (2, "a", "b")),
        ("a\tsource\n", None, (1, "a", "source")),
    ],
)
def test_a_header_names_the_columns(tmp_path: Path, content: str, fields: Any, expected: Any) -> None:
    assert read(tmp_path, content, fields=fields)[0] == [expected]


def test_a_header_that_was_found_is_reported(tmp_path: Path) -> None:
    _, findings = read(tmp_path, "src\ttgt\na\tb\n")
    assert [(f.level, f.line) for f in findings] == [("note", 1)]
    assert "source is taken from 'src' and target from 'tgt'" in findings[0].message


def test_fields_that_are_not_there_once_are_refused(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, 'id,sou\nrce,"tar\nget"\n', "x.csv", fields=("source", "target"))
    assert "line 1: the header must name one column 'source'; got 'id', 'sou'" in sentence
    assert "got 'a', 'b', 'a'" in refuse(tmp_path, "a\tb\ta\nx\ty\tz\n", fields=("a", "b"))


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"source": "a", "target": "b"}, None),
        ({"id": "7", "Output": "b", "input": "a", "n": 3}, None),
        ({"hinten": "a", "vorn": "b", "n": 3}, None),
        ({"translation": {"en": "a", "de": "b"}}, None),
        ({"translation": {"de": "b", "en": "a"}, "id": "7"}, ("translation.en", "translation.de")),
        ({"x.y": "a", "z": "b", "w": "c"}, ("x.y", "z")),
    ],
)
def test_fields_of_json_are_found(tmp_path: Path, record: Any, fields: Any) -> None:
    content = f"\ufeff\n{json.dumps(record)}\r\n\r\n{json.dumps(record)}"
    assert read(tmp_path, content, "x.jsonl", fields)[0] == [(2, "a", "b"), (4, "a", "b")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"source": ["a", 1], "target": "b"}', "the field 'source' must be a text; got [\"a\", 1];"),
        ('{"source": NaN, "target": "b"}', "the field 'source' must be a text; got NaN;"),
        ('{"source": "a"}', "there must be a field 'target'; got 'source';"),
        ('["a", "b"]', "each line must be a JSON object; got"),
        ('{"source": "a",', "each line must be a JSON object;"),
        ("[" * 100_000, "each line must be a JSON object;"),
        ('{"source": ' + "9" * 5000 + "}", "each line must be a JSON object;"),
    ],
    ids=lambda value: value[:30],
)
def test_json_that_has_not_two_texts_is_refused(tmp_path: Path, line: str, expected: str) -> None:
    sentence = refuse(tmp_path, f'{{"source": "x", "target": "y"}}\n\n{line}\n', "x.jsonl")
    assert f"x.jsonl, line 3: {expected}" in sentence
    assert len(sentence) < 400


def test_unclear_fields_are_listed(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, '{"a": "1", "b\\n": "2", "c": "3"}\n', "x.jsonl")
    assert "got 'a', 'b\\n', 'c'; name them with --fields SOURCE,TARGET." in sentence


def test_half_characters_of_json_are_replaced(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, '{"source": "a\\ud83d", "target": "\\ud83d\\ude00\\u0000"}\n', "x.jsonl")
    assert rows == [(1, "a\ufffd", "😀\ufffd")]
    assert [f.line for f in findings] == [1]


def test_parallel_files_pair_by_line(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, "\ufeff\r\nb\r\nc\r\n\r\n", "x.en", target="x\n \nz\n\n")
    assert rows == [(3, "c", "z")]
    blanks = {f.message: (f.file and f.file.name, f.line) for f in findings if "blank" in f.message}
    assert blanks == {
        "the source is blank but the target is not": ("x.en", 1),
        "the target is blank but the source is not": ("target.txt", 2),
        "both sides are blank": ("x.en", 4),
    }


def test_parallel_files_of_other_lengths_are_refused(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, "a\nb\nc\n", "x.en", target="x\ny")
    assert "got 3 in" in sentence
    assert "and 2 in" in sentence
    assert "at or before line 3" in sentence


def test_lines_for_prediction_are_counted_as_people_count(tmp_path: Path) -> None:
    assert split_lines("\ufeffa\r\n\nb\u2028c\0\n") == ["a", "", "b\u2028c "]
    assert split_lines("") == []
    assert split_lines("a") == split_lines("a\n") == ["a"]
    assert split_lines("a\rb c\r") == ["a", "b c"]  # as training reads them
    assert decode(read_bytes(put(tmp_path / "empty.txt", "")), "empty.txt") == ""


def test_rows_can_be_taken_in_any_order() -> None:
    pairs = Pairs(("a", "b", "c"), ("x", "y", "z"), (1, 2, 4)).take([2, 0])
    assert (pairs.source, pairs.target, pairs.lines) == (["c", "a"], ["z", "x"], [4, 1])
    assert len(pairs) == 2


def test_findings_and_origins_read_as_sentences() -> None:
    finding = Finding("warning", "a blank line", "it is skipped", Path("x.tsv"), 3, 2)
    assert str(finding) == "x.tsv, line 3: a blank line (2 times); it is skipped."
    assert str(Finding("error", "it broke", "mend it")) == "it broke; mend it."
    assert str(Origin(Path("a.en"), Path("a.de"))) == "a.en and a.de"


def test_a_list_of_sentences_and_a_number_as_label_are_read(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, '{"text": ["Mr. A. B.", "no"], "label": 1}\n{"text": "x", "label": true}\n', "x.jsonl")
    assert [target for _, _, target in rows] == ["1", "true"]
    text = rows[0][1]
    assert [text[start:end] for start, end in split_sentences(text)] == ["Mr. A. B.", "no"]


@pytest.mark.parametrize("header", ["review,sentiment", "title and more,text,stars", "english,german", "note,mood"])
def test_headers_as_people_write_them_are_no_data(header: str, tmp_path: Path) -> None:
    columns = header.split(",")
    rows = [[f"{name} {number}" for name in columns[:-1]] + [["good", "bad"][number % 2]] for number in range(8)]
    (tmp_path / "data.csv").write_text("\n".join([header, *(",".join(row) for row in rows)]))
    pairs, findings = read_pairs(Origin(tmp_path / "data.csv"))
    assert (len(pairs), set(pairs.target)) == (8, {"good", "bad"})
    assert pairs.source[0] == f"{columns[-2]} 0"
    assert [finding.level for finding in findings] == ["note"]


@pytest.mark.parametrize(
    "header", ["quelle;ziel", "Frage;Antwort", "入力;出力", "المصدر;الهدف", "question;Re\u0301ponse"]
)
def test_headers_in_other_languages_are_no_data(header: str, tmp_path: Path) -> None:
    rows, findings = read(tmp_path, f"{header}\nab;BA\ncd;DC\n", "x.csv")
    assert rows == [(2, "ab", "BA"), (3, "cd", "DC")]
    assert [finding.level for finding in findings] == ["note"]
    assert len(read(tmp_path, "question;Antwort\nab;BA\n", "x.csv")[0]) == 2  # a dictionary


def test_what_may_be_a_header_is_named_and_read_as_a_pair(tmp_path: Path) -> None:
    words = [a + b for a in "abcde" for b in "abcd"]
    sentences = "".join(f"the {word}. one\t{word} x\n" for word in words)
    letters = "".join(f"{word}\t{word.upper()}\n" for word in words)
    for rest in (sentences, letters):
        rows, findings = read(tmp_path, "lause\tkäännös\n" + rest)
        assert len(rows) == 21
        (found,) = findings
        assert (found.level, found.line) == ("note", 1)
        assert "looks like a header ('lause', 'käännös')" in found.message
        assert "--fields lause,käännös" in found.remedy
    for first in ("a lause\tda käännös\n", "Go!\tGeh!\n", "ab\tab\n", ""):
        assert read(tmp_path, first + sentences)[1] == []
        assert read(tmp_path, first + letters)[1] == []


def test_numbers_of_json_are_texts_and_null_is_a_blank_that_is_named(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, '{"text": 12, "label": 3.5}\n{"text": "b", "label": null}\n', "x.jsonl")
    assert rows == [(1, "12", "3.5")]
    assert any("the target is blank" in finding.message and finding.line == 2 for finding in findings)


def test_the_delimiter_is_what_gives_all_rows_as_many_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "a, b;c\nd;e\n", "x.csv")[0] == [(1, "a, b", "c"), (2, "d", "e")]
    assert read(tmp_path, "sep=;\nsource;target\na, b;c\n", "x.csv")[0] == [(3, "a, b", "c")]


def test_columns_without_a_header_are_chosen_by_number(tmp_path: Path) -> None:
    assert read(tmp_path, "3,title,text\n", "x.csv", ("3", "1"))[0] == [(1, "text", "3")]
    assert "here are 2; got 3 and 1" in refuse(tmp_path, "a,b\n", "x.csv", ("3", "1"))
    assert "got 'Id', 'Title', 'Text'; name them with --fields" in refuse(tmp_path, "Id,Title,Text\n1,a,b\n", "x.csv")


def test_labels_in_the_first_of_two_columns_are_the_target(tmp_path: Path) -> None:
    content = "v1,v2,,\n" + "".join(f"{'spam' if n % 2 else 'ham'},text {n},,\n" for n in range(8))
    assert read(tmp_path, content, "x.csv")[0][:2] == [(2, "text 0", "ham"), (3, "text 1", "spam")]


def test_blank_lines_behind_one_of_two_files_shift_nothing(tmp_path: Path) -> None:
    for name, content in (("a.en", "x\ny\n"), ("a.de", "u\nv\n\n \n")):
        (tmp_path / name).write_text(content)
    pairs, findings = read_pairs(Origin(tmp_path / "a.en", tmp_path / "a.de"))
    assert (pairs.source, pairs.target) == (("x", "y"), ("u", "v"))
    assert [(finding.level, finding.line, finding.count) for finding in findings] == [("note", 3, 2)]


def test_words_above_a_column_of_numbers_are_a_header(tmp_path: Path) -> None:
    rows = "".join(f"{n},x{n}\n" for n in range(10))
    assert read(tmp_path, "name,code\n" + rows, "x.csv")[0][0] == (2, "0", "x0")
    assert read(tmp_path, "a,1b\n" + rows, "x.csv")[0][0] == (1, "a", "1b")


def test_a_list_of_labels_is_one_target(tmp_path: Path) -> None:
    assert read(tmp_path, '{"text": "t", "labels": ["a", "b"]}\n', "x.jsonl")[0] == [(1, "t", "a|b")]
    assert "cannot have |, which separates labels; got 'a|b';" in refuse(
        tmp_path, '{"text": "t", "labels": ["a|b"]}\n', "x.jsonl"
    )


def test_lists_of_labels_say_that_a_source_may_have_several(tmp_path: Path) -> None:
    some = [
        '{"text": "t", "labels": ["a", "b"]}\n',
        '{"text": "u", "labels": []}\n',
        '{"text": "v", "labels": ["a"]}\n',
    ]
    pairs, findings = read_pairs(Origin(put(tmp_path / "x.jsonl", "".join(some))))
    assert (pairs.target, pairs.separator) == (("a|b", "a"), "|")
    assert (pairs.take([0]).separator, pairs.group().ungroup().separator) == ("|", "|")
    assert [(f.line, f.message) for f in findings] == [(2, "the target is blank but the source is not")]
    one, _ = read_pairs(Origin(put(tmp_path / "y.jsonl", "".join(some[1:]))))
    assert (one.target, one.separator) == (("a",), None)  # one each, as a list by habit


def test_a_list_of_targets_belongs_to_one_source(tmp_path: Path) -> None:
    content = '{"source": "a", "target": ["x", "y"]}\n{"source": "b", "target": "z"}\n{"source": "a", "target": "w"}\n'
    pairs, _ = read_pairs(Origin(put(tmp_path / "x.jsonl", content)))
    assert list(pairs.source) == ["a", "a", "b", "a"]
    grouped = pairs.group_lists()
    assert (grouped.source, grouped.references) == (["a", "b", "a"], [["x", "y"], ["z"], ["w"]])
    single = pairs.take([2, 3])
    assert single.group_lists() is single


def test_numbers_in_a_list_of_labels_are_labels(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, '{"text": "a", "labels": [1, 2]}\n{"text": "b", "labels": [3]}\n', "x.jsonl")
    assert rows == [(1, "a", "1|2"), (2, "b", "3")]


def test_the_quotes_of_a_spreadsheet_are_no_part_of_a_text(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, '"He said ""hi"", ok"\tx\ny\t"z"\n', "x.tsv")
    assert rows == [(1, 'He said "hi", ok', "x"), (2, "y", "z")]
    assert any("cells in quotes" in str(finding) for finding in findings)
    for content in ('"Hi," he said.\tx\n"a ""b"\tc\n', '"Hi."\tx\n"Ho."\ty\n'):  # quotes of people
        rows, findings = read(tmp_path, content, "x.tsv")
        assert [row[1] for row in rows] == [line.split("\t")[0] for line in content.splitlines()]


def test_two_delimiters_that_fit_are_a_warning(tmp_path: Path) -> None:
    rows, findings = read(tmp_path, "wert 1,1;1\nwert 2,1;2\n", "x.csv")
    assert rows[0] == (1, "wert 1", "1;1")
    assert any("columns are split at a comma, and a semicolon would fit as well" in str(each) for each in findings)


def test_a_json_array_is_read_as_json_lines_are(tmp_path: Path) -> None:
    records = [{"text": "a", "more": {"label": "x"}}, {"text": "b", "more": {"label": "y"}}]
    fields = ("text", "more.label")
    for name, content in (
        ("x.json", "\ufeff " + json.dumps(records, indent=2)),
        ("x.json.gz", gzip.compress(json.dumps(records).encode())),
        ("x.jsonl", "".join(json.dumps(record) + "\n" for record in records)),
    ):
        assert read(tmp_path, content, name, fields)[0] == [(1, "a", "x"), (2, "b", "y")]
    assert read(tmp_path, '[{"source": "a", "target": ["x", "y"]}]', "x.json")[0] == [(1, "a", "x"), (1, "a", "y")]


def test_a_fault_of_a_json_array_names_the_object(tmp_path: Path) -> None:
    for content, expected in [
        ('[{"source": "a", "target": "x"}, {"source": "b"}]', "x.json, object 2: there must be a field 'target'"),
        ('[{"source": "a", "target": "x"}, 3]', "x.json: object 2 of the array must be a JSON object; got 3."),
        ('[{"source": "a", "target": "x"}', "x.json: this is not JSON"),
        ("[]", "x.json: a JSON array of objects must be there; got []."),
    ]:
        assert expected in refuse(tmp_path, content, "x.json")
    _, findings = read(tmp_path, '[{"a": "x", "b": "y"}]', "x.json")
    assert [finding.line for finding in findings] == [None]


def test_parquet_is_read_as_json_lines_are(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = {"id": [7, 8], "day": arrow.array([0, 1], arrow.date32()), "text": ["a", "b"], "label": [True, False]}
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), tmp_path / "x.parquet")
    pairs, _ = read_pairs(Origin(tmp_path / "x.parquet"))
    assert (pairs.source, pairs.target) == (("a", "b"), ("true", "false"))
    assert read_pairs(Origin(tmp_path / "x.parquet", fields=("day", "text")))[0].source == ("1970-01-01", "1970-01-02")
    assert "x.parquet: this is no Parquet" in refuse(tmp_path, "a\tb\n", "x.parquet")


def test_parquet_without_pyarrow_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert '[parquet]"; or use CSV' in refuse(tmp_path, b"PAR1", "x.parquet")
