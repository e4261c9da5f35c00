"""The quickstart as a newcomer runs it, with fewer dates and updates."""

from pathlib import Path

import pytest

import seq2see as package
from command import refused, seq2see
from seq2see.cli import quickstart
from seq2see.cli.doctor import doctor
from seq2see.core.errors import ConfigError

HARD = {
    "Saturday 09 May 2018": "2018-05-09",  # it was a Wednesday
    "5 Apr 09": "2009-04-05",
    "20th of February 2016": "2016-02-20",
    "3. März 1979": "1979-03-03",
}


@pytest.mark.slow
def test_quickstart_learns_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the dates and a quarter of the updates make nine of ten right; all of them, 99 of a hundred."""
    monkeypatch.setattr(quickstart, "SIZES", {"train": 20_000, "valid": 500, "test": 500})
    out = tmp_path / "runs" / "quickstart"
    result = seq2see("quickstart", "train.updates=200", "--out", out)
    assert result.returncode == 0, result.stderr
    assert "attention weight" in result.stderr
    assert (out / "report.html").is_file()
    assert len(list((out / "attention").glob("*.png"))) == 4
    run = package.load(out)
    pairs = [line.split("\t") for line in (tmp_path / "runs" / "dates" / "test.tsv").read_text().splitlines()]
    predicted = run.predict([written for written, _ in pairs], beam=1)
    right = sum(prediction.text == iso for prediction, (_, iso) in zip(predicted, pairs, strict=True))
    assert right >= 0.88 * len(pairs)
    hard = zip(run.predict(list(HARD)), HARD.values(), strict=True)
    assert sum(prediction.text == iso for prediction, iso in hard) >= 3
    # attention does something: most weight of the year's last digit is on the digit itself
    trace = run.predict("20th of February 2016").attention
    assert trace.source_tokens[trace.weights[3].argmax()].text == "6"
    assert trace.weights[3].max() > 0.5


def test_shapes_are_made_beside_the_run_and_the_doctor_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quickstart, "SCENES", {"train": 4, "valid": 2, "test": 2})
    quickstart.make_files(
        quickstart.Demonstration.shapes, None, tmp_path / quickstart.place_data(quickstart.Demonstration.shapes)
    )
    doctor(tmp_path / "shapes")
    said = capsys.readouterr().out
    assert "train: 4 images with one caption each" in said
    assert f"in {tmp_path / 'shapes' / 'test.jsonl'}" in said
    with pytest.raises(ConfigError, match="shapes have no lengths"):
        quickstart.quickstart(task=quickstart.Demonstration.shapes, lengths="1..3", out=tmp_path / "run")


def test_a_mistyped_setting_is_found_before_data_is_made(tmp_path: Path) -> None:
    assert "did you mean 'updates'" in refused(seq2see("quickstart", "train.updats=3", "--out", tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []
