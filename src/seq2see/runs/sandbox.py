"""A sandbox for runs of strangers: each is tried in a process with limits before this one opens it."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from seq2see.core.errors import CheckpointError, Seq2SeeError
from seq2see.core.json_text import read_json
from seq2see.runs.trial import digest_files
from seq2see.system.confinement import ProcessLimits

if TYPE_CHECKING:
    from seq2see.runs.folder import RunFolder

log = logging.getLogger("seq2see")

MEMORY = 3 * 2**30  # bytes of address space beside those of the weights; torch alone takes one gigabyte
WEIGHT_COPIES = 4
SECONDS = 60  # of computing
PATIENCE = 180.0  # seconds by the clock, on a machine that has more to do
MAX_REPORT = 60_000  # bytes; a pipe holds as many, so that the process can write them at once and end


def try_apart(folder: "RunFolder", limits: ProcessLimits | None = None, *, patience: float = PATIENCE) -> None:
    """Open a run in a process with limits, predict and explain there, and check that its files stay what they were.

    A warning names the limits that this system does not permit.

    Args:
        folder: the run folder.
        limits: what the process may use; None follows from the size of the weights.
        patience: seconds by the clock after which the process is killed.

    Raises:
        CheckpointError: the run is refused, or its process ended early or took too long.
    """
    limits = limits or _choose_limits(folder)
    found = run_trial({"path": str(folder.path.absolute()), "limits": asdict(limits)}, patience=patience)
    digests, missing = found.get("digests"), found.get("missing")
    if isinstance(found.get("refused"), str):
        raise CheckpointError(found["refused"])
    if not isinstance(digests, dict) or not isinstance(missing, list):
        raise CheckpointError(f"{folder.path}: the trial of the run told nothing; do not use the run.")
    if digests != digest_files(folder):
        raise CheckpointError(f"{folder.path}: the files were changed while the run was tried; load it again.")
    if missing:
        log.warning("%s: the sandbox has to do without %s on this system.", folder.path, ", ".join(map(str, missing)))


def run_trial(job: Mapping[str, Any], *, patience: float) -> dict[str, Any]:
    """Do a job in a process with limits, and return its report.

    Args:
        job: the job, as `seq2see.runs.trial.report` takes it.
        patience: seconds by the clock after which the process is killed.

    Raises:
        CheckpointError: the process ended without a report, or took too long.
    """
    with TemporaryDirectory(prefix="seq2see-", ignore_cleanup_errors=True) as place:
        process = _start(place)
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            try:
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.close()
                code = process.wait(patience)
            except subprocess.TimeoutExpired:
                code = -getattr(signal, "SIGXCPU", 0)
            except BrokenPipeError:
                code = process.wait()
            finally:
                _kill(process)
            text = process.stdout.read(MAX_REPORT) if code == 0 else b""
    if code != 0:
        raise CheckpointError(f"{job['path']}: {_explain(code, job['limits'])}")
    try:
        found = read_json(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _choose_limits(folder: "RunFolder") -> ProcessLimits:
    from seq2see.system.free_memory import read_free_memory

    try:
        size = folder.weights_file.stat().st_size
    except OSError:  # the trial says what is wrong with it
        size = 0
    most = MEMORY + WEIGHT_COPIES * size
    free = read_free_memory()
    return ProcessLimits(memory=most if free is None else min(most, MEMORY + free), seconds=SECONDS)


def _start(place: str) -> subprocess.Popen[bytes]:
    """Start the process in an empty folder, with no file of this process open and an environment of its own."""
    if os.name != "posix":
        raise Seq2SeeError("a sandbox needs Linux or macOS; leave it out, or use a container.")
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    own = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "SEQ2SEE_CACHE"), place)
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1"}
    modules = os.pathsep.join(str(Path(each).absolute()) for each in sys.path if each)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "seq2see.runs.trial"],
        cwd=place,
        env={**kept, **own, **quiet, "PYTHONPATH": modules},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process with all that it has started."""
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _explain(code: int, limits: Mapping[str, Any]) -> str:
    if code in (-getattr(signal, "SIGXCPU", 0), -signal.SIGKILL):
        return (
            f"the run could not be tried within {limits['seconds']} seconds and "
            f"{limits['memory'] / 2**30:.1f} GB; it may have been made to do harm; do not use it."
        )
    reason = signal.Signals(-code).name if code < 0 else f"code {code}"
    return (
        f"the run ended the process in which it was tried ({reason}), perhaps for want of memory (it may have "
        f"{limits['memory'] / 2**30:.1f} GB); it may have been made to do harm; do not use it."
    )
