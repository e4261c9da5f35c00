"""Killed without warning at random moments and run again, a training ends with the same bits."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from reversal import write_reversals

from command import seq2see
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder

SETTINGS = ["train.updates=90", "train.validate_every=7", "train.validation_pairs=4", "train.batch_tokens=128"]
SETTINGS += ["model.encoder.size=24", "model.decoder.size=24", "train.accumulate=2", "data.held_out=0.001"]


@pytest.mark.slow
def test_sigkill_at_random_moments_changes_no_bit(tmp_path: Path) -> None:
    words = ["train", str(write_reversals(tmp_path / "reversed.tsv", 200)), *SETTINGS, "--out"]
    seed = random.randrange(10**6)
    draw, out = random.Random(seed), tmp_path / "killed"
    for _ in range(2):
        command = [sys.executable, "-m", "seq2see", *words, str(out)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait_for_progress(out, process, updates=draw.randint(1, 10))
        time.sleep(draw.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the training was too quick to be killed"
    for name in ("killed", "straight"):
        assert seq2see(*words, tmp_path / name).returncode == 0
    left, right = (read_checkpoint(RunFolder(tmp_path / name).checkpoints()[0]) for name in ("straight", "killed"))
    assert left.facts == right.facts, f"seed {seed}"
    assert all(torch.equal(left.tensors[name], right.tensors[name]) for name in left.tensors), f"seed {seed}"


def _wait_for_progress(out: Path, process: subprocess.Popen[bytes], *, updates: int) -> None:
    """Wait until a checkpoint newer than the newest one by so many updates exists, or the process ends."""
    newest = _newest(out)
    while process.poll() is None and _newest(out) < newest + updates:
        time.sleep(0.01)


def _newest(out: Path) -> int:
    return max((int(path.stem.removeprefix("update-")) for path in RunFolder(out).checkpoints()), default=0)
