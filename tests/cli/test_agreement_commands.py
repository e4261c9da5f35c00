"""The commands say whether attention can be believed, begin with leave-one-out if not, and warn of unknowns."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command import refused, seq2see
from seq2see.cli.inputs import warn_of_unknown
from seq2see.data.modalities.document import Documents
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters, Words
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.runs.agreement_file import read_agreement, write_agreement
from seq2see.runs.folder import RunFolder

STORED = Path(__file__).parents[1] / "runs" / "format-2"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of which nothing was measured."""
    return Path(shutil.copytree(STORED, tmp_path / "run"))


@pytest.mark.slow
def test_inspect_begins_with_leave_one_out_where_attention_hardly_agrees(run: Path, tmp_path: Path) -> None:
    def show(*options: object) -> str:
        result = seq2see("inspect", run, "abc ab", *options)
        assert result.returncode == 0, result.stderr
        return " ".join(result.stdout.split())

    unknown = show()
    assert "not measured (seq2see evaluate RUN DATA --agreement measures it)" in unknown
    assert "Leave-one-out" not in unknown
    write_agreement(RunFolder(run), AttentionAgreement(0.01, 24))
    weak = show()
    parts = ["hardly agree", "Leave-one-out: what the output needs", "Attention: where the model attended", "100%:"]
    assert [weak.index(part) for part in parts] == sorted(weak.index(part) for part in parts)
    assert "Leave-one-out" not in show("--no-leave-one-out")
    file = tmp_path / "look.json"
    assert "hardly agree" in show("-o", file)
    written = json.loads(file.read_text())
    assert (written["run_agreement"]["weak"], len(written["drops"]) > 0) == (True, True)


@pytest.mark.slow
def test_evaluate_measures_a_run_and_keeps_it(run: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{a} {b} c\tx\n" for a in ("ab", "ca", "bb") for b in ("bca", "a", "cc")))
    plain = seq2see("evaluate", run, data, "--agreement")
    assert plain.returncode == 0, plain.stderr
    known = read_agreement(RunFolder(run))
    assert str(known) in plain.stdout
    assert known.count > 0
    found = json.loads(seq2see("evaluate", run, data, "--agreement", "--json").stdout)
    assert found["attention_agreement"] == known.to_dict()
    assert "leave out --with" in refused(seq2see("evaluate", run, data, "--agreement", "--with", run))


@pytest.mark.slow
def test_predict_flags_and_counts_what_the_run_does_not_know(run: Path) -> None:
    result = seq2see("predict", run, "--format", "jsonl", stdin="abc\na狗b狗\nßa\n")
    rows = [json.loads(line)["unknown"] for line in result.stdout.splitlines()]
    assert rows == [
        [],
        [{"text": "狗", "start": 1, "end": 2}, {"text": "狗", "start": 3, "end": 4}],
        [{"text": "ß", "start": 0, "end": 1}],
    ]
    assert "2 of 3 lines have characters that the run does not know: '狗' (2), 'ß'; " in result.stderr


def tell(source: Any, lines: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    run: Any = SimpleNamespace(task=SimpleNamespace(source=source))
    warn_of_unknown(run, lines)
    return capsys.readouterr().err


def test_a_warning_counts_lines_and_names_what_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    letters = TextModality(Characters().learn(["abc"]))
    assert tell(letters, ["abc", ""], capsys) == ""
    assert "the input has characters that the run does not know: 'x'; it reads" in tell(letters, ["axb"], capsys)
    assert "1 of 2 lines has characters" in tell(letters, ["axb", "a"], capsys)
    many = tell(letters, ["defghij", "dd", "a\u0301"], capsys)
    assert "3 of 3 lines have characters" in many
    assert "'d' (3), 'e', 'f', 'g', 'h' and 3 others" in many
    words = TextModality(Words(min_count=1).learn(["good food"]))
    assert "has words or characters that the run does not know: 'bad' (2);" in tell(words, ["bad food bad"], capsys)
    documents = Documents(words={"kind": "words", "min_count": 1}).learn(["Good food. Good tea."])
    assert "'milk'" in tell(documents, ["Good food. Good milk."], capsys)
