"""A dry run: everything that a training would decide, without writing anything that stays."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from unittest import mock

from seq2see.runs.folder import RunFolder
from seq2see.system.processes import measure_memory
from seq2see.training.begun_run import holds_run, keep_limits
from seq2see.training.description import describe_findings, describe_job
from seq2see.training.job import Job
from seq2see.training.launch import prepare_training
from seq2see.training.request import TrainingRequest

ADAM_BYTES = 2 * 4  # of each parameter: the two averages of Adam, which a dry run does not have


def describe_dry_run(request: TrainingRequest) -> Iterator[str]:
    """Yield what a training is going to do: data, plan, size, time, memory and the run folder, which stays as it is.

    Args:
        request: what to train, on what, and where.

    Raises:
        DataError: the data has an error, or does not suit the configuration.
        ConfigError: the configuration is wrong, or the folder holds another run.
    """
    again = holds_run(request.folder, keep_limits(request.folder, request.loaded.config))
    with _preparing_elsewhere(request) as job:
        job.estimate(1)  # makes what the first batches need, so that the time is that of the training itself
        yield from () if job.again else describe_findings(job.findings)
        yield from describe_job(job)
        yield f"memory: about {_estimate_memory(job) / 1e6:,.0f} MB"
    place = request.folder.path.absolute()
    yield f"run folder: {place}, {'which has a run to go on with' if again else 'a new one'}; nothing was written"


@contextmanager
def _preparing_elsewhere(request: TrainingRequest) -> Iterator[Job]:
    """Prepare a training in a copy of its run folder, with a cache of its own; both are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="seq2see-") as place:
        folder = RunFolder(Path(place) / "run")
        if request.folder.holds_run():
            copytree(request.folder.path, folder.path)
        with mock.patch.dict(os.environ, {"SEQ2SEE_CACHE": place}):
            job = prepare_training(replace(request, folder=folder), fill=False)
            try:
                yield job
            finally:
                job.loop.close()


def _estimate_memory(job: Job) -> int:
    """Return the bytes that a training needs at most: what this process had with its batches, for each worker."""
    parameters = sum(parameter.numel() for parameter in job.loop.model.parameters())
    return (measure_memory() + ADAM_BYTES * parameters) * job.loop.team.workers
