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

from seq2see.train.checkpoint import read_checkpoint
from seq2see.train.folder import RunFolder

SETTINGS = ["train.updates=60", "train.evaluate_every=7", "train.evaluate_pairs=16", "train.batch_tokens=128"]
SETTINGS += ["model.encoder.size=24", "model.decoder.size=24", "train.accumulate=2"]


def command(data: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "seq2see", "train", str(data), *SETTINGS, "--out", str(out)]


@pytest.mark.slow
def test_sigkill_at_random_moments_changes_no_bit(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "reversed.tsv", 200)
    subprocess.run(command(data, tmp_path / "straight"), check=True, capture_output=True)
    seed = random.randrange(10**6)
    draw, out, killed = random.Random(seed), tmp_path / "killed", 0
    for _ in range(30):
        process = subprocess.Popen(command(data, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if killed < 4:
            _wait_for_progress(out, process, updates=draw.randint(1, 16))
            time.sleep(draw.uniform(0, 0.3))
        if killed < 4 and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        if process.wait() == 0:
            break
    assert killed >= 2, "the training was too quick to be killed"
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
