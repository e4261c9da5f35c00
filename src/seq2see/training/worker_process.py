"""A worker of a data-parallel training: how it starts, how it answers requests, and how the main process handles it."""

import os
import pickle
import socket
import struct
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.models.network import Network
from seq2see.objectives.minimum_risk import Reward
from seq2see.runs.folder import RunFolder
from seq2see.system.foreign_code import admit
from seq2see.system.processes import REQUESTS, serve_parent, starting_workers
from seq2see.training.begun_run import read_task
from seq2see.training.distillation_teachers import open_teachers
from seq2see.training.learner import Learner
from seq2see.training.parallel_plan import ParallelPlan
from seq2see.training.pretrained import freeze
from seq2see.training.process_group import MIN_PATIENCE_SECONDS, LostError, ProcessGroup, await_answer
from seq2see.training.worker_requests import Request

EXIT_TIMEOUT = 5.0  # seconds to wait for the reason of a worker that failed
READY = pickle.dumps(None)


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker must know before its first request.

    Args:
        rank: its rank in the process group, from 1 (the main process has 0).
        plan: how many processes there are, and how many threads each has.
        folder: the run folder.
        meeting: the file over which the process group connects.
        longest_target: the tokens of the longest target in training, end mark included.
        reward: the reward of minimum risk training; None without it.
    """

    rank: int
    plan: ParallelPlan
    folder: Path
    meeting: Path
    longest_target: int
    reward: Reward | None

    def open(self) -> Learner[Network]:
        """Return a learner for the run, as the main process has one; the weights are sent to it later."""
        folder = RunFolder(self.folder)
        config = folder.read_config()
        admit(config.model_dump(), [folder.path / "code"], trust=True, owner="")
        task = read_task(folder, config).with_saved_state({"longest_target": self.longest_target})
        model = task.build(config)
        freeze(model, config.init)
        teachers = open_teachers(config.train.distillation, task, model)
        return Learner(config, task, model, teachers=teachers, reward=self.reward)


class WorkerProcess:
    """A worker, as the main process sees it; the constructor starts its process.

    Args:
        setup: what the worker must know before its first request.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        context = get_context("spawn")  # a process with threads must not be forked
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, setup))
        with starting_workers(REQUESTS):
            self.process.start()
        theirs.close()  # so that the worker alone holds it, and its end is noticed here
        if os.name == "posix":
            limit_sending(self.connection, MIN_PATIENCE_SECONDS)

    def send(self, request: Request) -> None:
        """Send a request to the worker.

        Args:
            request: what the worker is to do; it is pickled.

        Raises:
            BlockingIOError: the worker takes nothing: it hangs, or was stopped.
            OSError: the worker has ended.
        """
        self.connection.send_bytes(pickle.dumps(request))  # `send` would put tensors into shared memory, often scarce

    def receive(self, *, took: float) -> bytes:
        """Wait for the next answer of the worker, and return it as pickled bytes.

        Args:
            took: the seconds that the same work took in this process.

        Raises:
            EOFError: the worker has ended.
            HungError: the worker does not answer.
        """
        await_answer(self.connection.poll, took=took)
        return self.connection.recv_bytes()

    def await_ready(self) -> None:
        """Wait until the worker says that it is ready.

        Raises:
            Seq2SeeError: the worker could not start, or hangs.
        """
        await_answer(self.connection.poll, took=0.0)
        reason = self.find_failure()
        if isinstance(reason, str):
            raise Seq2SeeError(f"a process to share the training could not start ({reason}); set train.workers=1.")
        if reason is not None:
            raise reason

    def find_failure(self) -> Seq2SeeError | str | None:
        """Return what is wrong with the worker: the error it sent, or how it ended; None if it is silent."""
        try:
            if not self.connection.poll(EXIT_TIMEOUT):
                return None
            error: Seq2SeeError | None = pickle.loads(self.connection.recv_bytes())
            return error
        except (EOFError, OSError):
            self.process.join(EXIT_TIMEOUT)
            code = self.process.exitcode or 0
            return f"signal {-code}" if code < 0 else f"exit code {code}" if code else None

    def end(self) -> None:
        """Kill the process of the worker, and close the connection to it."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def limit_sending(connection: Connection, seconds: float) -> None:
    """Let sending fail with a BlockingIOError when nobody takes anything for so long.

    Args:
        connection: a connection over a socket, as all are but on Windows.
        seconds: how long to wait.
    """
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        whole, part = divmod(seconds, 1)
        same.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(whole), int(part * 1e6)))


def serve(connection: Connection, setup: WorkerSetup) -> None:
    """Answer the requests of the main process until it ends; this is what a worker process runs.

    Args:
        connection: the worker's end of the connection to the main process.
        setup: what the worker must know before its first request.
    """
    serve_parent(deaf_to=REQUESTS)
    torch.set_num_threads(setup.plan.threads)
    try:
        learner = setup.open()
        connection.send_bytes(READY)
        group = ProcessGroup(setup.meeting, setup.rank, setup.plan.workers)
        connection.send_bytes(READY)
        while True:
            request: Request = pickle.loads(connection.recv_bytes())
            answer = request.answer(learner, group)
            if answer is not None:
                connection.send_bytes(answer)
    except (LostError, EOFError, OSError):
        pass  # another process has ended, and the main one knows
    except Exception as error:
        told = error if isinstance(error, Seq2SeeError) else Seq2SeeError(f"{type(error).__name__}: {error}")
        connection.send_bytes(pickle.dumps(told))
