"""What people give a run: a list of images keeps its lines, and a line that is far too long is named."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from seq2see.cli.inputs import check_pairs, read_images, warn_of_columns, warn_of_length
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


@pytest.mark.parametrize(
    ("name", "line", "warns"),
    [
        ("a.tsv", "one\ttwo", True),
        ("a.jsonl", '{"source": "one"}', True),
        ("a.tsv", "one", False),
        ("a.txt", "one\ttwo", False),
    ],
)
def test_a_file_of_pairs_is_not_taken_for_inputs_in_silence(
    name: str, line: str, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_columns(Path(name), [line])
    assert ("with all its columns" in capsys.readouterr().err) == warns


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
