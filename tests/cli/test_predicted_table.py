"""Tables through `seq2see predict`: one column is predicted, and the whole table is written with more columns."""

import csv
import json
from pathlib import Path

import pytest
from PIL import Image
from reversal import write_reversals

import seq2see as package
from command import refused, seq2see

QUICK = ["train.updates=4", "train.validate_every=4", "train.batch_tokens=256"]
SMALL = [*QUICK, "search.max_length=6", "model.encoder.size=16", "model.decoder.size=16"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that writes texts."""
    folder = tmp_path_factory.mktemp("texts")
    data = write_reversals(folder / "pairs.tsv", 60)
    result = seq2see("train", data, *SMALL, "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that chooses labels of texts."""
    folder = tmp_path_factory.mktemp("labels")
    rows = [f"{word} {n},{label}\n" for n in range(30) for word, label in (("good", "pos"), ("bad", "neg"))]
    (folder / "data.csv").write_text("text,label\n" + "".join(rows))
    result = seq2see("train", folder / "data.csv", *QUICK, "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    return folder / "run"


def read(file: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter=delimiter))


def test_a_table_gets_the_columns_of_its_predictions(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('id;text;prediction\n1;"ab;c\nd";x\n2;;y\n3;hgf;z\n')
    result = seq2see("predict", texts, "in.csv", "--fields", "text", "-o", "out.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = read(tmp_path / "out.csv", ";")
    assert list(rows[0]) == ["id", "text", "prediction", "prediction_2", "confidence"]
    assert [(row["id"], row["text"], row["prediction"]) for row in rows] == [
        ("1", "ab;c\nd", "x"), ("2", "", "y"), ("3", "hgf", "z"),
    ]  # fmt: skip
    found = package.load(texts).predict(["ab;c\nd", "hgf"])
    assert [rows[0]["prediction_2"], rows[1]["prediction_2"], rows[2]["prediction_2"]] == [
        found[0].text,
        "",
        found[1].text,
    ]
    assert rows[1]["confidence"] == ""
    chances = [token.confidence or 0.0 for token in found[1].tokens]
    product = 1.0
    for chance in chances:
        product *= chance
    assert float(rows[2]["confidence"]) == pytest.approx(product ** (1 / len(chances)), rel=1e-5)
    assert not list(tmp_path.glob(".*draft"))


def test_labels_get_a_column_for_each_probability(labels: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("n\ttext\n7\tgood one\n8\t\n")
    words = ["predict", labels, "in.tsv", "--fields", "text", "--n-best", "2"]
    assert seq2see(*words, "-o", "out.jsonl", cwd=tmp_path).returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert list(rows[0]) == [
        *("n", "text", "prediction", "confidence", "alternative_1", "alternative_1_confidence"),
        *("probability_neg", "probability_pos"),
    ]
    assert rows[0]["probability_neg"] + rows[0]["probability_pos"] == pytest.approx(1, abs=1e-5)
    assert rows[0]["confidence"] == max(rows[0]["probability_neg"], rows[0]["probability_pos"])
    assert {rows[0]["prediction"], rows[0]["alternative_1"]} == {"neg", "pos"}
    assert (rows[1]["prediction"], rows[1]["probability_pos"], rows[1]["confidence"]) == ("", None, None)
    printed = seq2see(*words, cwd=tmp_path).stdout.splitlines()
    assert printed[0].split("\t")[:3] == ["n", "text", "prediction"]
    piped = seq2see("predict", labels, "--fields", "text", stdin="n,text\n7,good one\n", cwd=tmp_path)
    assert piped.stdout.splitlines()[0] == "n,text,prediction,confidence,probability_neg,probability_pos"


def test_lines_can_be_written_as_a_table_and_tables_read_as_lines(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\nc,d\n")
    assert "--fields COLUMN" in refused(seq2see("predict", texts, "in.csv", cwd=tmp_path))
    assert len(seq2see("predict", texts, "in.csv", "--lines", cwd=tmp_path).stdout.splitlines()) == 2
    words = ["predict", texts, "in.csv", "--lines", "--format", "table", "-o", "out.csv"]
    assert seq2see(*words, cwd=tmp_path).returncode == 0
    assert [row["source"] for row in read(tmp_path / "out.csv")] == ["a,b", "c,d"]
    (tmp_path / "latin.txt").write_bytes("süß\n".encode("latin-1"))
    guessed = seq2see("predict", texts, "latin.txt", "--format", "jsonl", cwd=tmp_path)
    assert json.loads(guessed.stdout)["source"] == "süß"
    assert "read as cp1252" in guessed.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["in.csv", "--fields", "b"], "in.csv: there must be a column 'b'; got 'text'"),
        (["in.csv", "--fields", "text", "-o", "out.txt"], "out.txt: a table must end in .csv"),
        (["in.csv", "--fields", "text", "--lines"], "give one of the two"),
        (["in.csv", "--fields", "text", "--format", "table", "--attention"], "written as JSON lines"),
        (["in.csv", "in.csv", "--fields", "text"], "a column of one table; got 2 files"),
        (["in.csv", "--fields", "text", "-o", "in.csv"], "must not replace an input"),
        (["in.csv", "--fields", "text", "--encoding", "klingon"], "an encoding must be one that Python knows"),
        (["none.csv", "--fields", "text"], "the table is empty"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    texts: Path, tmp_path: Path, words: list[str], expected: str
) -> None:
    (tmp_path / "in.csv").write_text("text\nabc\n")
    (tmp_path / "none.csv").touch()
    assert expected in refused(seq2see("predict", texts, *words, cwd=tmp_path))
    assert {file.name for file in tmp_path.iterdir()} == {"in.csv", "none.csv"}


def test_a_column_may_name_images(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(12):
        Image.new("RGB", (8, 8), (number * 20, 0, 0)).save(tmp_path / "images" / f"{number}.png")
    names = [f"{number}.png,{'dark' if number < 6 else 'light'}\n" for number in range(12)]
    (tmp_path / "data.csv").write_text("image,label\n" + "".join(names))
    result = seq2see("train", "data.csv", "preset=small-cnn", *QUICK, "--out", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (tmp_path / "in.csv").write_text("n,image\n1,3.png\n2,missing.png\n3,\n")
    assert "--fields image" in refused(seq2see("predict", "run", "in.csv", cwd=tmp_path))
    done = seq2see("predict", "run", "in.csv", "--fields", "image", "-o", "out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stderr
    rows = read(tmp_path / "out.csv")
    assert [row["image"] for row in rows] == ["3.png", "missing.png", ""]
    assert [row["prediction"] in ("dark", "light") for row in rows] == [True, False, False]
