"""Whole tables: what is read is written again, with further columns behind, in every format."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from seq2see.core.errors import DataError
from seq2see.data.formats.data_table import MISSING, DataTable, read_table, take_texts, write_table
from seq2see.data.formats.lines import ReadReport
from seq2see.data.formats.table_kind import Kind

CSV = 'id;"a text";label\n1;"one; ""two""\nthree";\n\n2;ä;y;\n'
ROWS = [["1", 'one; "two"\nthree', ""], ["2", "ä", "y"]]


def read(name: str, text: str, field: str) -> tuple[DataTable, list[str]]:
    table = read_table(Path(name), text.split("\n"), field, ReadReport())
    return table, take_texts(table, field, Path(name))


def test_csv_keeps_its_columns_quotes_and_delimiter() -> None:
    table, texts = read("x.csv", CSV, "a text")
    assert (table.names, list(map(list, table.rows))) == (("id", "a text", "label"), ROWS)
    assert texts == ['one; "two"\nthree', "ä"]
    written = write_table(table.add({"prediction": ["p", "q;"]}), "csv", Path("y.csv")).decode()
    assert list(csv.reader(io.StringIO(written), delimiter=";")) == [
        ["id", "a text", "label", "prediction"],
        [*ROWS[0], "p"],
        [*ROWS[1], "q;"],
    ]


def test_a_column_by_its_number_needs_no_header() -> None:
    table, texts = read("x.tsv", "a\tone\nb\ttwo\n", "2")
    assert texts == ["one", "two"]
    added = table.add({"prediction": ["p", "q\tr"]})
    assert write_table(added, "tsv", Path("y.tsv")) == b"a\tone\tp\nb\ttwo\tq r\n"
    assert write_table(added, "csv", Path("y.csv")).startswith(b"column_1,column_2,prediction\na,one,p\n")
    assert read("x.csv", "1,2\na,b\n", "2")[1] == ["b"]  # unless the header has it


def test_names_of_new_columns_do_not_collide() -> None:
    table, _ = read("x.csv", "Prediction,text,prediction_2\na,b,c\n", "text")
    assert table.add({"prediction": [1], "confidence": [0.5]}).names[3:] == ("prediction_3", "confidence")


@pytest.mark.parametrize(("name", "kind"), [("x.jsonl", "jsonl"), ("x.json", "json")])
def test_objects_keep_their_values_and_gaps(name: str, kind: Kind) -> None:
    objects = [{"a": {"b": "one"}, "n": 1.5}, {"a": {"b": ["two.", "three."]}, "ü": None}, {"n": 3}]
    text = json.dumps(objects) if kind == "json" else "\n".join(json.dumps(each) for each in objects)
    table, texts = read(name, text, "a.b")
    assert texts[0] == "one"
    assert texts[2] == ""
    assert table.rows[2] == [MISSING, 3, MISSING]
    content = write_table(table.add({"prediction": ["p", "q", ""]}), "jsonl", Path("y.jsonl.gz"))
    written = [json.loads(line) for line in gzip.decompress(content).decode().splitlines()]
    assert written == [{**each, "prediction": new} for each, new in zip(objects, ("p", "q", ""), strict=True)]
    assert read("x.jsonl", '{"n": 7}\n{"n": null}', "n")[1] == ["7", ""]


@pytest.mark.parametrize(
    ("name", "text", "field", "expected"),
    [
        ("x.csv", "a,b\n1,2\n", "c", "x.csv: there must be a column 'c'; got 'a', 'b'; fix --fields."),
        ("x.csv", "a,b\n1,2,3\n", "a", "x.csv, line 2: every line needs at most 2 columns"),
        ("x.csv", "a,b\n1,2\n", "3", "columns are counted from 1, and here are 2; got 3"),
        ("x.csv", "a,a\n1,2\n", "a", "x.csv, line 1: the header must name one column 'a'"),
        ("x.csv", "", "a", "x.csv: the table has no rows"),
        ("x.jsonl", '{"a": {"b": 1}}', "a", "x.jsonl: column 'a' must hold texts; row 1 has"),
        ("x.jsonl", '{"a": 1}\n{"a"', "a", "x.jsonl, line 2: each line must be a JSON object"),
    ],
)
def test_a_fault_of_a_table_is_one_sentence(name: str, text: str, field: str, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        read(name, text, field)
    assert expected in str(caught.value)


def test_parquet_keeps_the_types_of_its_columns(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    before = arrow.table({"id": arrow.array([7, 8], arrow.int16()), "text": ["a", None]})
    parquet.write_table(before, tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", [], "text", ReadReport())
    assert take_texts(table, "text", tmp_path / "x.parquet") == ["a", ""]
    added = table.add({"prediction": ["p", ""], "confidence": [0.5, None]})
    (tmp_path / "y.parquet").write_bytes(write_table(added, "parquet", tmp_path / "y.parquet"))
    after = parquet.read_table(tmp_path / "y.parquet")
    assert after.schema.field("id").type == arrow.int16()
    assert after.to_pylist()[1] == {"id": 8, "text": None, "prediction": "", "confidence": None}
    assert write_table(added, "csv", Path("y.csv")).decode() == "id,text,prediction,confidence\n7,a,p,0.5\n8,,,\n"
