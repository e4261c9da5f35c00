"""The quickstart as a newcomer runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seq2see
from seq2see.cli import quickstart as command
from seq2see.cli.doctor import doctor
from seq2see.core.errors import ConfigError

HARD = {
    "Saturday 09 May 2018": "2018-05-09",  # it was a Wednesday
    "5 Apr 09": "2009-04-05",
    "20th of February 2016": "2016-02-20",
    "3. März 1979": "1979-03-03",
}


@pytest.mark.slow
def test_quickstart_learns_dates(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "quickstart"
    command = [sys.executable, "-m", "seq2see", "quickstart", "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "attention weight" in result.stderr
    assert (out / "report.html").is_file()
    assert len(list((out / "attention").glob("*.png"))) == 4
    test = str(tmp_path / "runs" / "dates" / "test.tsv")
    evaluated = subprocess.run(
        [sys.executable, "-m", "seq2see", "evaluate", str(out), test, "--json"], capture_output=True, text=True
    )
    assert json.loads(evaluated.stdout)["metrics"]["exact_match"]["value"] >= 99
    run = seq2see.load(out)
    assert [prediction.text for prediction in run.predict(list(HARD))] == list(HARD.values())
    # attention does something: most weight of the year's last digit is on the digit itself
    trace = run.predict("20th of February 2016").attention
    assert trace.source_tokens[trace.weights[3].argmax()].text == "6"
    assert trace.weights[3].max() > 0.5


def test_shapes_are_made_beside_the_run_and_the_doctor_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SCENES", {"train": 4, "valid": 2, "test": 2})
    command.make_files(command.Task.shapes, None, tmp_path / command.place_data(command.Task.shapes))
    doctor(tmp_path / "shapes")
    said = capsys.readouterr().out
    assert "train: 4 pictures with 2 captions each (8 in all)" in said
    assert f"in {tmp_path / 'shapes' / 'test.jsonl'}" in said
    with pytest.raises(ConfigError, match="shapes have no lengths"):
        command.quickstart(task=command.Task.shapes, lengths="1..3", out=tmp_path / "run")
