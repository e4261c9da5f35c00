"""Runs that are tried in a process with limits: an honest one is loaded, a greedy or deadly one is one sentence."""

import logging
import shutil
import sys
from pathlib import Path

import pytest

import seq2see
from seq2see.core.errors import CheckpointError, Seq2SeeError
from seq2see.runs import sandbox
from seq2see.runs.folder import RunFolder
from seq2see.runs.sandbox import run_trial, try_apart
from seq2see.runs.trial import digest_files
from seq2see.system.confinement import ProcessLimits

STORED = Path(__file__).parent / "format-2"
GENEROUS = ProcessLimits(memory=3 * 2**30, seconds=60)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
pytestmark = [pytest.mark.slow, LINUX]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A copy of a run that is stored."""
    return RunFolder(Path(shutil.copytree(STORED, tmp_path / "run")))


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that stands in the place of a library's, and does what a flaw in it would let a run do."""
    place = tmp_path / "modules"
    place.mkdir()
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    return place / "torch.py"  # the first one that is imported


def test_an_honest_run_is_tried_and_loaded(folder: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert seq2see.load(folder.path, sandbox=True).predict("abc").text == "cba"
    assert all("the sandbox has to do without" in record.message for record in caplog.records)


def test_what_a_trial_refuses_is_the_sentence_of_loading(folder: RunFolder) -> None:
    folder.config_file.write_text("task: 3\n")
    with pytest.raises(CheckpointError) as tried:
        seq2see.load(folder.path, sandbox=True)
    with pytest.raises(Seq2SeeError) as loaded:
        seq2see.load(folder.path)
    assert str(tried.value) == str(loaded.value)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("bytearray(2**33)", "needs more memory than a trial may use"),
        ("while True: pass", "could not be tried within 3 seconds and 3.0 GB"),
        ("import time\ntime.sleep(60)", "could not be tried within 3 seconds and 3.0 GB"),
        ("import os\nos.abort()", "ended the process in which it was tried .SIGABRT."),
        ("import os\nos.kill(os.getpid(), 9)", "could not be tried within"),
        ("import os\nos._exit(0)", "told nothing"),
        ("import os\nos.write(3, b'[' * 50000)\nos._exit(0)", "told nothing"),
        ("import os\nos.write(3, b'x' * 10**7)", "could not be tried within"),
        ("import os\nos._exit(7)", "ended the process in which it was tried .code 7."),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "Network is unreachable"),
        ("open('big', 'wb').write(bytes(10**8))", "File too large|SIGXFSZ"),
    ],
)
def test_what_a_run_might_do_is_one_sentence(folder: RunFolder, attack: Path, code: str, sentence: str) -> None:
    attack.write_text(code)
    limits = ProcessLimits(memory=GENEROUS.memory, seconds=3)
    with pytest.raises(CheckpointError, match=sentence) as caught:
        try_apart(folder, limits, patience=6.0 if "time" in code or "10**7" in code else 120.0)
    assert str(caught.value).startswith(str(folder.path))
    assert "\n" not in str(caught.value)


def test_the_process_knows_nothing_of_this_one(
    folder: RunFolder, attack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither secrets in the environment, nor open files, nor where people keep theirs."""
    monkeypatch.setenv("SEQ2SEE_TOKEN", "secret")
    with open(tmp_path / "open", "w") as file:
        import os

        os.set_inheritable(file.fileno(), True)
        attack.write_text(
            "import os\nraise ValueError(f\"{'SEQ2SEE_TOKEN' in os.environ} {os.environ['HOME'] == os.getcwd()} \" + "
            "str(any('/open' in os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if "
            "os.path.lexists(f'/proc/self/fd/{n}'))))"
        )
        with pytest.raises(CheckpointError, match="ValueError: False True False"):
            try_apart(folder, GENEROUS)


def test_files_that_change_after_the_trial_are_refused(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = digest_files(folder)
    found = {"digests": {**honest, "config.yaml": "0" * 64}, "missing": []}
    monkeypatch.setattr(sandbox, "run_trial", lambda *_, **__: found)
    with pytest.raises(CheckpointError, match="the files were changed while the run was tried"):
        seq2see.load(folder.path, sandbox=True)
    found["digests"] = honest
    seq2see.load(folder.path, sandbox=True)


def test_missing_limits_are_told(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = {"digests": digest_files(folder), "missing": ["a network of its own", "a limit of memory"]}
    monkeypatch.setattr(sandbox, "run_trial", lambda *_, **__: found)
    with caplog.at_level(logging.WARNING):
        try_apart(folder)
    assert "do without a network of its own, a limit of memory on this system" in caplog.text


def test_trust_and_a_sandbox_exclude_each_other(folder: RunFolder) -> None:
    with pytest.raises(Seq2SeeError, match="leave out one of them"):
        seq2see.load(folder.path, trust=True, sandbox=True)


def test_nothing_is_left_behind(folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    job = {"path": str(folder.path), "limits": {"memory": GENEROUS.memory, "seconds": 60}}
    assert run_trial(job, patience=120.0)["digests"] == digest_files(folder)
    assert list(place.iterdir()) == []
