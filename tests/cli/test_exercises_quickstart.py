"""The quickstart with an exercise for a memory."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seq2see.cli import quickstart as command
from seq2see.cli.app import app
from seq2see.core.errors import ConfigError

TINY = ["train.updates=2", "train.evaluate_every=2", "train.evaluate_pairs=4", "model.encoder.rows=12"]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["quickstart", *map(str, words)])


@pytest.mark.slow
def test_an_exercise_goes_from_nothing_to_wrong_symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXERCISE_SIZES", {"train": 60, "valid": 8, "test": 8, "longer": 4})
    result = run("--task", "copy", "--lengths", "2..4", "--out", tmp_path / "run", *TINY)
    assert result.exit_code == 0, result.output
    assert "wrong symbols at twice the greatest of them" in " ".join(result.output.split())
    assert (tmp_path / "run" / "report.html").is_file()
    longer = (tmp_path / "exercises" / "copy" / "longer.tsv").read_text().splitlines()
    assert {len(line.split("\t")[1].split()) for line in longer} == {8}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lengths", "2..4"], "dates have no lengths"),
        (["--task", "copy", "--lengths", "5"], r"must be two numbers such as 1\.\.20; got 5"),
    ],
    ids=str,
)
def test_lengths_that_mean_nothing_are_named(words: list[str], sentence: str) -> None:
    error = run(*words).exception
    assert isinstance(error, ConfigError)
    with pytest.raises(ConfigError, match=sentence):
        raise error
