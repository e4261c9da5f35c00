"""The other processes of a training on this machine, as the main process starts, watches and ends them."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

from seq2see.core.errors import Seq2SeeError
from seq2see.training.parallel_plan import ParallelPlan
from seq2see.training.process_group import (
    AGAIN,
    LOOPBACK,
    POLL_SECONDS,
    HungError,
    LostError,
    ProcessGroup,
    connect_store,
    read_patience,
)

EXIT_TIMEOUT = 5.0  # seconds to wait for the reason of a worker that failed
MODULE = "seq2see.training.local_worker"
LOST = 3  # the exit code of a worker that lost its connection to the others
START_PATIENCE = 12.0  # times the patience of an update, for workers read all data before they are ready


class LocalWorkers:
    """Processes on this machine that share a training with this one, which has rank 0.

    As a context manager, it turns a lost connection into the reason: the error of a worker, or how it ended.

    Args:
        folder: the run folder, from which they read configuration, tokenizers and code.
        plan: how many processes there are, and how many threads each has.
    """

    def __init__(self, folder: Path, plan: ParallelPlan) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        try:
            store = connect_store(LOOPBACK, 0, is_master=True)
            setup: dict[str, str | int] = {
                "folder": str(folder),
                "workers": plan.workers,
                "threads": plan.threads,
                "port": store.port,
            }
            for rank in range(1, plan.workers):
                self.processes.append(_start({**setup, "rank": rank}))
            with self:
                for process in self.processes:
                    self._await_ready(process)
                self.group = ProcessGroup(store, 0, plan.workers, local=True)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, LostError):
            raise self._explain() from None

    def end(self) -> None:
        """Kill the processes."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        self.processes = []

    def _await_ready(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait until a worker says that it is ready, and hear signals meanwhile."""
        waited, patience = 0.0, START_PATIENCE * read_patience()
        assert process.stdout is not None
        while not select.select([process.stdout], [], [], POLL_SECONDS)[0]:
            waited += POLL_SECONDS
            if waited >= patience:
                raise HungError
        said = _read_line(process.stdout)
        if "error" in said:
            raise Seq2SeeError(said["error"])
        if not said:
            raise Seq2SeeError(
                f"a process to share the training could not start ({_tell_end(process)}); set train.workers=1."
            )

    def _explain(self) -> Seq2SeeError:
        """Return why the training cannot go on: the error of a worker, or how it ended."""
        how = "its connection broke"
        for process in self.processes:
            end = _tell_end(process)
            if end == f"exit code {LOST}":
                continue  # because of another one
            said = _read_line(process.stdout) if end else {}
            if "error" in said:
                return Seq2SeeError(said["error"])
            how = end or how
        return Seq2SeeError(
            f"a process that shares the training ended early ({how}), perhaps for want of memory; make room and {AGAIN}"
        )


def _start(setup: dict[str, str | int]) -> "subprocess.Popen[bytes]":
    """Start a worker, which reads its setup from its standard input, and ends when that is closed."""
    command = [sys.executable, "-m", MODULE]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # in a session of its own, so that a terminal sends it no Ctrl-C: this process alone decides
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(setup).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it ended already, as is noticed when it is waited for
    return process


def _read_line(stream: IO[bytes] | None) -> dict[str, str]:
    """Return the next line that a worker wrote; nothing if it ended."""
    line = stream.readline() if stream is not None else b""
    return {} if not line else {str(key): value for key, value in json.loads(line).items()}


def _tell_end(process: "subprocess.Popen[bytes]") -> str:
    """Return how a process ended; nothing if it runs."""
    try:
        code = process.wait(EXIT_TIMEOUT)
    except subprocess.TimeoutExpired:
        return ""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
