"""Environments of the peers, made by pip, and commands that are run in them."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


class Failure(Exception):  # noqa: N818
    """Why something of a peer could not be measured, in one line."""


def make_environment(place: Path, needs: Sequence[str], limits: Sequence[str]) -> str:
    """A Python with what it needs, installed if it is not yet."""
    python, done = place / "bin" / "python", place / "installed.txt"
    if not done.is_file() or done.read_text() != "\n".join(needs):
        tell(f"installing {place.name}")
        run([sys.executable, "-m", "venv", str(place)], timeout=300)
        run([str(python), "-m", "pip", "install", "--quiet", *needs, *limits], timeout=3600)
        done.write_text("\n".join(needs))
    return str(python)


def run(command: Sequence[str], *, timeout: float, threads: int = 1, cwd: Path | None = None, **settings: str) -> None:
    """Run a command quietly; its last line of error is why it failed. What it says is kept in a log where it runs."""
    same = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    same["GOMP_SPINCOUNT"] = "10000"  # as seq2see sets it for itself
    try:
        done = subprocess.run(
            command, env={**os.environ, **same, **settings}, cwd=cwd, timeout=timeout, capture_output=True, text=True
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise Failure(" ".join(str(error).split())[-200:]) from error
    if cwd:
        (cwd / "log").write_text(done.stdout + done.stderr)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failure(lines[-1].strip()[-200:] if lines else f"exit code {done.returncode}")


def tell(message: str) -> None:
    """Say what is being done."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)
