"""What people give a run: a list of images keeps its lines, and a line that is far too long is named."""

import gzip
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from seq2see.cli.inputs import check_pairs, read_images, read_inputs, warn_of_length
from seq2see.cli.search_options import warn_of_labels
from seq2see.core.errors import DataError
from seq2see.data.modalities.image import ImageModality
from seq2see.data.modalities.label_set import LabelSet
from seq2see.data.modalities.text import TextModality
from seq2see.data.pairs import Pairs
from seq2see.data.trainable_tokenizers import Characters
from seq2see.search.options import DecodeOptions
from seq2see.tasks.classification import Classification
from seq2see.tasks.transduction import Transduction


def test_a_list_of_images_keeps_its_lines_and_files_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "a b.png", tmp_path / "bad.png"
    Image.new("RGB", (3, 3)).save(good)
    bad.write_bytes(b"")
    listed = tmp_path / "list.txt"
    listed.write_text(f"{bad}\n\n{good}\n")
    assert read_images(ImageModality(size=8), [listed]) == ["", "", str(good)]
    assert read_images(ImageModality(size=8), [bad, good]) == [str(good)]
    assert "left out" in capsys.readouterr().err


def test_a_line_longer_than_all_of_training_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    letters = Characters().learn(["a"])
    task = Transduction(TextModality(letters), letters)
    run: Any = SimpleNamespace(task=task, config=SimpleNamespace(data=SimpleNamespace(max_tokens=5)))
    warn_of_length(run, ["aaaa", "a" * 9])
    assert "line 2 has 10 tokens" in capsys.readouterr().err
    warn_of_length(run, ["a" * 9])
    assert "the input has 10 tokens" in capsys.readouterr().err


TABLES = [
    ("a.tsv", "id\tphrases\n1\tone two\n", "phrases"),
    ("a.csv", "id,text,label\n1,one,x\n2,two,y\n", "text"),
    ("a.csv", "utterance\none, two\nthree\n", "COLUMN"),
    ("a.csv", '"one, two"\n"three"\n', "one, two"),
    ("a.csv.gz", "id;words\n1;one\n2;two\n", "words"),
    ("a.csv", "1,one\n2,two\n", "2"),
    ("a.csv", "one,uno\ntwo,dos\n", "COLUMN"),
    ("a.csv", "who,x1\none,uno\ntwo,dos\n", "x1"),
    ("a.jsonl", '{"id": 1, "body": "one"}\n', "body"),
    ("a.json", '[{"id": 1, "odd name": "one"}]', "odd name"),
    ("a.txt", '{"id": 1, "a": "one"}\n{"id": 2, "a": "two"}\n', "a"),
    ("a.txt", "id\ta\n1\tone\n2\ttwo\n", "a"),
]
TEXTS = [
    ("a.txt", "one, two, three\nfour, five, six\n"),
    ("a.txt", "text\none\n"),
    ("a.txt", "one\ttwo\n"),
    ("a.txt", "one\ttwo\nthree\n"),
    ("a.txt", "{one}\ntwo\n"),
    ("a.tsv", "one\ntwo\n"),
    ("a.csv", "one\ntwo\n"),
    ("a.csv", ""),
]


def make_text_run(trained: str) -> Any:
    """A run that reads texts, and was trained on a column of this name."""
    task = SimpleNamespace(source=SimpleNamespace(reads="text", accepts=lambda file: True))
    return SimpleNamespace(task=task, config=SimpleNamespace(data=SimpleNamespace(fields=(trained, "target"))))


@pytest.mark.parametrize(("name", "content", "column"), TABLES)
def test_a_table_is_refused_and_its_column_of_texts_proposed(
    tmp_path: Path, name: str, content: str, column: str
) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    run = make_text_run("x1")
    with pytest.raises(DataError, match=re.escape(f"with --fields {shlex.quote(column)} (a name of")) as caught:
        read_inputs(run, [file])
    assert str(caught.value).startswith(f"{file}: this is a table")
    assert "give --lines" in str(caught.value)
    assert read_inputs(run, [file], tables=True) == content.splitlines()


@pytest.mark.parametrize(("name", "content"), TEXTS)
def test_texts_with_commas_and_tabs_stay_texts(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_inputs(make_text_run("x1"), [tmp_path / name]) == content.splitlines()


def test_data_of_another_kind_or_with_other_labels_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    target = LabelSet(("neg", "pos"), (1, 1), 2)
    texts: Any = SimpleNamespace(task=Classification(TextModality(Characters().learn(["a"])), target))
    check_pairs(texts, Pairs(["a", "b"], ["pos", "odd"]))
    assert "1 label that this run does not know, such as 'odd'" in capsys.readouterr().err
    with pytest.raises(DataError, match="this run knows none of the labels"):
        check_pairs(texts, Pairs(["a"], ["1"]))
    with pytest.raises(DataError, match="second knows none of the labels"):
        check_pairs(texts, Pairs(["a"], ["1"]), name="second")
    with pytest.raises(DataError, match="reads text, and the data is images"):
        check_pairs(texts, Pairs(["/a.jpg"], ["pos"]))


def test_what_labels_cannot_do_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run: Any = SimpleNamespace(task=SimpleNamespace(writes_text=False))
    warn_of_labels(run, DecodeOptions(n_best=2))
    assert capsys.readouterr().err == ""
    warn_of_labels(run, DecodeOptions(min_length=3, ban=("a",)))
    assert "chooses labels and writes nothing; without effect: --min-length, --ban" in capsys.readouterr().err
