"""The format of run folders: what this version reads, and what it says of others."""

import json
from pathlib import Path

import pytest

import seq2see
from seq2see.core.errors import CheckpointError
from seq2see.runs.folder import FORMAT, RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run folder with a configuration and nothing else."""
    folder = RunFolder(tmp_path / "run")
    folder.create("task: transduction\n...\n")
    return folder


def test_a_run_folder_says_its_format(folder: RunFolder) -> None:
    assert json.loads(folder.format_file.read_text()) == {"format": 2, "seq2see": seq2see.__version__}


def test_a_folder_without_a_format_is_of_the_first_one(folder: RunFolder) -> None:
    folder.format_file.unlink()
    with pytest.raises(CheckpointError, match=r"must have format 2 .*; got format 1; train the run again"):
        seq2see.load(folder.path)


@pytest.mark.parametrize("found", [FORMAT + 1, "3", None, -1, True])
def test_another_format_is_refused(folder: RunFolder, found: object) -> None:
    folder.format_file.write_text(json.dumps({"format": found}))
    with pytest.raises(
        CheckpointError, match="install a newer seq2see" if found is not True else "train the run again"
    ):
        folder.read_config()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_format_is_told(folder: RunFolder, content: str) -> None:
    folder.format_file.write_text(content)
    with pytest.raises(CheckpointError, match=r"run.json: the file is damaged"):
        folder.read_config()
