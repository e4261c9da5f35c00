"""The folder of a training: one training at a time, and nothing half-written stays."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reversal import SMALL, write_reversals

import seq2see
from command import refused
from command import seq2see as command
from seq2see.core.errors import CheckpointError
from seq2see.runs.folder import RunFolder

TRAIN = {"updates": 8, "batch_tokens": 64, "validate_every": 4, "validation_pairs": 8}
OPTIONS: dict[str, Any] = {"preset": "bahdanau2015", "model": SMALL, "train": TRAIN}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def test_a_second_training_in_a_folder_is_refused_until_the_first_ends(data: Path, tmp_path: Path) -> None:
    first = seq2see.fit(data, out=tmp_path / "run", **OPTIONS)
    for event in first:
        if event.update == 4 and isinstance(event, seq2see.Validated):
            break
    before = RunFolder(tmp_path / "run").config_file.read_text()
    with pytest.raises(CheckpointError, match="another training is running in this folder"):
        seq2see.fit(data, out=tmp_path / "run", **OPTIONS)
    assert "another training is running" in refused(command("resume", tmp_path / "run"))
    assert "another training is running" in refused(command("resume", tmp_path / "run", "--updates", "99"))
    assert RunFolder(tmp_path / "run").config_file.read_text() == before
    list(first)
    list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))
    assert [row["update"] for row in RunFolder(tmp_path / "run").read_metrics()] == [4, 8]


def test_a_training_that_is_closed_before_it_begins_frees_its_folder(data: Path, tmp_path: Path) -> None:
    first = seq2see.fit(data, out=tmp_path / "run", **OPTIONS)
    first.close()
    second = seq2see.fit(data, out=tmp_path / "run", **OPTIONS)
    del second
    list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))


def test_of_two_that_prepare_at_once_the_second_is_refused(data: Path, tmp_path: Path) -> None:
    """Both find an empty folder; the first one opens it, and even ends, before the second does."""
    from seq2see.training import launch

    run_other = [True]
    prepare_job = launch.prepare_job

    def prepare_slowly(*arguments: Any, **options: Any) -> Any:
        job = prepare_job(*arguments, **options)
        if run_other.pop() if run_other else False:
            list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))
        return job

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(launch, "prepare_job", prepare_slowly)
        with pytest.raises(CheckpointError, match="another training has begun here meanwhile"):
            seq2see.fit(data, out=tmp_path / "run", **OPTIONS)


@pytest.mark.parametrize("left", [["checkpoints/training.lock"], ["checkpoints/training.lock", "run.json"], []])
def test_a_beginning_that_was_killed_is_begun_again(data: Path, tmp_path: Path, left: list[str]) -> None:
    run = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    for name in (*left, f".config.yaml.{ended.pid}.draft"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("{")
    list(seq2see.fit(data, out=run, **OPTIONS))
    assert not list(run.rglob("*.draft"))


def test_python_objects_that_were_being_written_are_written_again(tmp_path: Path) -> None:
    pairs = [(line, line[::-1]) for line in ["abc", "bcd", "cde", "def", "efg", "fgh", "ghi", "hij"]]
    run = RunFolder(tmp_path / "run")
    run.write_format()
    run.data_folder.mkdir()
    (run.data_folder / "train.jsonl").write_text('{"sour')
    list(seq2see.fit(pairs, out=run.path, **OPTIONS))
    assert len((run.data_folder / "train.jsonl").read_text().splitlines()) == 8


def test_a_run_that_lost_its_configuration_is_not_written_over(data: Path, tmp_path: Path) -> None:
    list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))
    (tmp_path / "run" / "config.yaml").unlink()
    with pytest.raises(CheckpointError, match="other files and no run"):
        seq2see.fit(data, out=tmp_path / "run", **OPTIONS)


def test_going_on_removes_the_drafts_of_dead_processes_alone(data: Path, tmp_path: Path) -> None:
    list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    dead = [f"checkpoints/.update-000000012.safetensors.{ended.pid}.draft", f".report.html.{ended.pid}.draft"]
    alive = [f".report.html.{os.getppid()}.draft", "checkpoints/.mine.draft"]
    for name in (*dead, *alive):
        (tmp_path / "run" / name).write_text("half")
    list(seq2see.fit(data, out=tmp_path / "run", **OPTIONS))
    assert {str(file.relative_to(tmp_path / "run")) for file in (tmp_path / "run").rglob("*.draft")} == set(alive)
