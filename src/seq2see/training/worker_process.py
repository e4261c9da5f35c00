"""A worker of a data-parallel training: how it starts, what it does until it ends, and how the main process sees it."""

import pickle
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
from seq2see.system.processes import REQUESTS, serve_parent, starting_deaf
from seq2see.training.distillation_teachers import open_teachers
from seq2see.training.learner import Learner
from seq2see.training.parallel_plan import ParallelPlan
from seq2see.training.pretrained import freeze
from seq2see.training.process_group import LostError, ProcessGroup
from seq2see.training.worker_requests import Request

EXIT_TIMEOUT = 5.0  # seconds to wait for the reason of a worker that failed
READY = pickle.dumps(None)


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker must know before its first request."""

    rank: int
    plan: ParallelPlan
    folder: Path  # of the run
    meeting: Path  # the file over which the process group connects
    longest_target: int  # what the main process has learned from the training data
    reward: Reward | None

    def open(self) -> Learner[Network]:
        """A learner for the run, as the main process has one; the weights are going to be sent."""
        folder = RunFolder(self.folder)
        config = folder.read_config()
        admit(config.model_dump(), [folder.path / "code"], trust=True, owner="")
        task = folder.read_task().with_saved_state({"longest_target": self.longest_target})
        model = task.build(config)
        freeze(model, config.init)
        teachers = open_teachers(config.train.distillation, task, model)
        return Learner(config, task, model, teachers=teachers, reward=self.reward)


class WorkerProcess:
    """A worker, as the main process sees it."""

    def __init__(self, setup: WorkerSetup) -> None:
        context = get_context("spawn")  # a process with threads must not be forked
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, setup))
        with starting_deaf(REQUESTS):
            self.process.start()
        theirs.close()  # so that the worker alone holds it, and its end is noticed here

    def send(self, request: Request) -> None:
        self.connection.send_bytes(pickle.dumps(request))  # `send` would put tensors into shared memory, often scarce

    def receive(self) -> bytes:
        return self.connection.recv_bytes()

    def await_ready(self) -> None:
        reason = self.find_failure(None)
        if isinstance(reason, str):
            raise Seq2SeeError(f"a process to share the training could not start ({reason}); set train.workers=1.")
        if reason is not None:
            raise reason

    def find_failure(self, seconds: float | None = EXIT_TIMEOUT) -> Seq2SeeError | str | None:
        """What is wrong with the worker: the error it sent, or how it ended; None if all is well."""
        try:
            error: Seq2SeeError | None = pickle.loads(self.receive()) if self.connection.poll(seconds) else None
            return error
        except (EOFError, OSError):
            self.process.join(EXIT_TIMEOUT)
            code = self.process.exitcode or 0
            return f"signal {-code}" if code < 0 else f"exit code {code}" if code else None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(connection: Connection, setup: WorkerSetup) -> None:
    """Answer the requests of the main process until it ends."""
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
