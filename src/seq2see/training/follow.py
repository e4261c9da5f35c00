"""What the processes of a training do that do not have rank 0: the same updates, without writing anything."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from seq2see.data.checks.data_doctor import Diagnosis, read_usable
from seq2see.runs.data_files import origins
from seq2see.runs.folder import RunFolder
from seq2see.training.job import Job
from seq2see.training.prepare import prepare_job


def open_job(path: Path) -> Job:
    """Return the job of a run that the process of rank 0 has opened; its data was checked there.

    Args:
        path: the run folder.
    """
    folder = RunFolder(path)
    config = folder.read_config()
    splits = {name: read_usable(origin)[0] for name, origin in origins(config).items() if name != "test"}
    return prepare_job(config, folder, Diagnosis(splits, []), near=[])


def follow(job: Job, stop: Callable[[], bool] = lambda: False) -> None:
    """Take part in a training until it is over.

    Args:
        job: the prepared training, whose loop has a process group.
        stop: called in every update; if it returns True, all processes stop after it, and rank 0 saves.
    """
    with closing(job.loop):
        for _ in job.loop.run(stop):
            pass
