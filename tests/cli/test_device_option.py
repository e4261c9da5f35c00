"""The device of a command: printed, chosen, and refused in one sentence where it is not there."""

from pathlib import Path

import pytest
from reversal import write_reversals

from command import refused, seq2see
from seq2see.testing import pretend_device

QUICK = ["train.updates=2", "train.validate_every=2", "train.validation_pairs=4", "train.batch_tokens=256"]
QUICK += ["preset=bahdanau2015", "model.encoder.size=12", "model.decoder.size=12"]
ABSENT = "the device must be one that is there, but there is no cuda; got cuda; take auto."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reversals(tmp_path_factory.mktemp("data") / "reversed.tsv", 60)


def test_a_training_prints_its_device_and_refuses_one_that_is_not_there(data: Path, tmp_path: Path) -> None:
    said = refused(seq2see("train", data, *QUICK, "train.device=cuda", "--out", tmp_path / "none"))
    assert ABSENT.removesuffix(" take auto.") in said
    assert not (tmp_path / "none").exists()
    wrong = refused(
        seq2see("train", data, *QUICK, "train.device=pretend", "train.workers=2", "--out", tmp_path / "none")
    )
    assert "train.workers must be 0 or 1 on pretend" in wrong
    result = seq2see("train", data, *QUICK, "train.device=pretend", "--out", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert "device: pretend" in result.stdout + result.stderr


def test_every_command_takes_a_device(data: Path, tmp_path: Path) -> None:
    assert seq2see("train", data, *QUICK, "train.device=pretend", "--out", tmp_path / "run").returncode == 0
    for words in (["predict", data, "--lines"], ["evaluate", data], ["inspect", "abc"], ["align", data]):
        command, *rest = words
        assert ABSENT in refused(seq2see(command, tmp_path / "run", *rest, "--device", "cuda"))
        here, there = (
            seq2see(command, tmp_path / "run", *rest, "--device", device) for device in ("cpu", pretend_device().type)
        )
        assert here.returncode == there.returncode == 0, there.stderr
        if command != "evaluate":  # which prints times
            assert there.stdout == here.stdout
