"""What people give a run: a list of pictures keeps its lines, and a line that is far too long is named."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from seq2see.cli.decoding import Wishes
from seq2see.cli.inputs import check_pairs, read_pictures, warn_of_columns, warn_of_length
from seq2see.core.errors import DataError
from seq2see.data.labels import LabelSet
from seq2see.data.pairs import Pairs
from seq2see.data.pictures import Pictures
from seq2see.data.tokenise import Characters
from seq2see.search.rules import Rules


def test_a_list_of_pictures_keeps_its_lines_and_files_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "a b.png", tmp_path / "bad.png"
    Image.new("RGB", (3, 3)).save(good)
    bad.write_bytes(b"")
    listed = tmp_path / "list.txt"
    listed.write_text(f"{bad}\n\n{good}\n")
    assert read_pictures(Pictures(size=8), [listed]) == ["", "", str(good)]
    assert read_pictures(Pictures(size=8), [bad, good]) == [str(good)]
    assert "left out" in capsys.readouterr().err


def test_a_line_longer_than_all_of_training_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    config = SimpleNamespace(data=SimpleNamespace(max_tokens=5), task="transduction", reads_pictures=False)
    run: Any = SimpleNamespace(task=SimpleNamespace(source=Characters().learn(["a"])), config=config)
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
    assert ("columns and all" in capsys.readouterr().err) == warns


def test_data_of_another_kind_or_with_other_labels_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    target = LabelSet(("neg", "pos"), (1, 1), 2)
    config, task = SimpleNamespace(reads_pictures=False), SimpleNamespace(target=target)
    texts: Any = SimpleNamespace(config=config, task=task)
    check_pairs(texts, Pairs(["a", "b"], ["pos", "odd"]))
    assert "1 label that this run does not know, such as 'odd'" in capsys.readouterr().err
    with pytest.raises(DataError, match="this run knows none of the labels"):
        check_pairs(texts, Pairs(["a"], ["1"]))
    with pytest.raises(DataError, match="second knows none of the labels"):
        check_pairs(texts, Pairs(["a"], ["1"]), name="second")
    with pytest.raises(DataError, match="reads text, and the data is pictures"):
        check_pairs(texts, Pairs(["/a.jpg"], ["pos"]))


def test_what_labels_cannot_do_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    config = SimpleNamespace(task="classification", search="greedy")
    run: Any = SimpleNamespace(config=config, rules=Rules())
    Wishes(n_best=2).apply(run)
    assert capsys.readouterr().err == ""
    Wishes(min_length=3, ban=["a"]).apply(run)
    assert "chooses labels and writes nothing; without effect: --min-length, --ban" in capsys.readouterr().err
