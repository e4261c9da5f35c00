"""What `seq2see.train` ends with: a final score, and the files that show it."""

from pathlib import Path
from typing import Any

import pytest
from reversal import SMALL

import seq2see

TRAIN = {"updates": 4, "batch_tokens": 64, "validate_every": 2, "validation_pairs": 8, "schedule": "constant"}
OPTIONS: dict[str, Any] = {"preset": "bahdanau2015", "model": SMALL, "train": TRAIN}
PAIRS = [(f"ab{number}", f"{number}ba"[::-1]) for number in range(60)]
TEST = [("ab7", "7"), ("ab8", "8"), ("ab9", "9")]


def test_a_training_from_python_is_scored_on_its_test_data_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = seq2see.train(PAIRS, test=TEST, out=tmp_path / "run", **OPTIONS)
    assert run.evaluation is not None
    assert run.evaluation.name == "test data"
    assert [each.source for each in run.evaluation.predictions] == ["ab7", "ab8", "ab9"]
    by_hand = run.evaluate(TEST)
    assert [m.value for m in by_hand.metrics] == pytest.approx([m.value for m in run.evaluation.metrics])
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "test data" in report
    assert all(f'"name":"{name}"' in report.replace(": ", ":") for name in ("exact match", "CER", "chrF", "TER"))
    assert (tmp_path / "run" / "attention" / "01.png").is_file()
    told = capsys.readouterr().err
    assert "3 pairs of test data" in told.replace("\n", " ")
    assert seq2see.load(run.folder.path).evaluation is None


def test_without_test_data_the_score_is_of_the_held_out_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = seq2see.fit(PAIRS, valid=TEST[:2], out=tmp_path / "run", **OPTIONS)
    for _ in training:
        pass
    run = training.evaluate()
    assert run.evaluation is not None
    assert (run.evaluation.name, len(run.evaluation.predictions)) == ("held-out data", 2)
    assert capsys.readouterr().err == ""
