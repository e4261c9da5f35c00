"""Signals in a training: the first one saves, whatever sent it, and a closed terminal is one of them."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reversal import write_reversals

from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.interrupts import catching_interrupts


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_noted_and_the_next_ctrl_c_stops(number: int) -> None:
    told: list[str] = []
    with catching_interrupts(lambda: told.append("stopping")) as asked:
        send(number)
        assert (asked, told) == ([number], ["stopping"])
        send(signal.SIGHUP)  # of a shell, beside that of the system
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


def test_what_nohup_started_goes_on_when_the_terminal_is_closed() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catching_interrupts(lambda: None) as asked:
            send(signal.SIGHUP)
            assert not asked
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_a_closed_terminal_saves(tmp_path: Path) -> None:
    """The system sends SIGHUP, and whatever is printed from then on fails."""
    data, out = write_reversals(tmp_path / "reversed.tsv"), RunFolder(tmp_path / "run")
    settings = ["train.updates=100000", "train.validate_every=50000", "train.validation_pairs=4", "train.workers=1"]
    settings += ["model.encoder.size=8", "model.decoder.size=8", "--out", str(out.path)]
    leader = (
        "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", leader, sys.executable, "-m", "seq2see", "train", str(data), *settings]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = b""
    while b"updates" not in said.partition(b"time: ")[2]:
        said += os.read(ours, 1000)
    time.sleep(1)
    os.close(ours)
    assert process.wait(60) == 130
    state = read_checkpoint(out.checkpoints()[0]).facts["state"]
    assert 0 < state["update"] < 50000
