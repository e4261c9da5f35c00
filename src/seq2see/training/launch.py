"""The start of a training: by this process alone, or by all processes that torchrun started."""

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import torch
from pydantic import TypeAdapter

import seq2see
from seq2see.config.write import read_remarks
from seq2see.core.errors import CheckpointError, ConfigError, DataError
from seq2see.data.checks.data_doctor import examine
from seq2see.runs.data_files import origins
from seq2see.runs.folder_lock import lock_folder
from seq2see.training.begun_run import changes_limits, describe_going_on, holds_run, keep_limits
from seq2see.training.image_plan import settle_mirroring
from seq2see.training.job import Job
from seq2see.training.parallel_plan import plan_launched
from seq2see.training.prepare import begins, open_folder, prepare_job
from seq2see.training.process_group import ProcessGroup
from seq2see.training.rendezvous import join_launched
from seq2see.training.request import TrainingRequest, write_run_config
from seq2see.training.training_data import discarding_data


def prepare_training(
    request: TrainingRequest, *, progress: Callable[[int, int], None] | None = None, fill: bool = True
) -> Job:
    """Check the data and the configuration of a request, make everything ready, and open the run folder.

    Of the processes that torchrun started, that of rank 0 opens the folder.

    Args:
        request: what to train, on what, and where.
        progress: called with how many sources are ready and how many there are, where that takes long; None: nobody is
            told.
        fill: whether to prepare all sources now, where that takes long; else each when it is first needed.

    Raises:
        DataError: the data has an error that the data doctor finds, or does not suit the configuration.
        ConfigError: the configuration is wrong, or the folder holds another run.
        CheckpointError: another training runs in the folder.
    """
    group = join_launched()
    if group is not None and group.rank > 0:
        return _share(group, prepare_following(request))
    return _open_job(request, progress, group, fill=fill)


def prepare_following(request: TrainingRequest) -> Job:
    """Make everything ready in a process that torchrun started with another rank than 0, without writing anything.

    Args:
        request: what to train, on what, and where, as the process of rank 0 got it.
    """
    config = request.loaded.config if request.resumes else keep_limits(request.folder, request.loaded.config)
    diagnosis = examine(origins(config), read=request.read)
    for finding in diagnosis.errors:
        raise DataError(finding.message + ".")
    config, _ = settle_mirroring(config, request.folder, diagnosis.splits["train"])
    with request.loaded.naming_places():
        return prepare_job(config, request.folder, diagnosis, near=[request.near])


def _share(group: ProcessGroup, job: Job) -> Job:
    """Return a job that all processes of a group share, once they agree on it; nothing is written before."""
    check_agreement(group, job)
    job.loop.join(group, plan_launched(job.loop.config.train, group.workers))
    return job


def _open_job(
    request: TrainingRequest,
    progress: Callable[[int, int], None] | None,
    group: ProcessGroup | None,
    *,
    fill: bool,
) -> Job:
    """Check a request, make everything ready, and open the run folder."""
    folder = request.folder
    config = request.loaded.config if request.resumes else keep_limits(folder, request.loaded.config)
    with discarding_data(folder, written=request.wrote_data), ExitStack() as held:
        diagnosis = examine(origins(config), read=request.read)
        for finding in diagnosis.errors:
            raise DataError(finding.message + ".")
        config, decided = settle_mirroring(config, folder, diagnosis.splits["train"])
        remarks = {**request.remarks, **decided}
        with request.loaded.naming_places():
            again = not request.wrote_data and holds_run(folder, config)
            lock = held.enter_context(lock_folder(folder)) if again else None
            job = prepare_job(config, folder, diagnosis, near=[request.near], progress=progress, fill=fill)
            job = job if group is None else _share(group, job)
        going_on = _take_limits(job) if again and folder.has_task and changes_limits(folder, config) else ""
        if not (again and folder.has_task):
            lock = lock or held.enter_context(lock_folder(folder))
            if not again and folder.holds_run():
                raise CheckpointError(
                    f"{folder.path}: another training has begun here meanwhile; choose another (out)."
                )
            open_folder(job, write_run_config(config, folder, remarks))
        job.loop.lock = lock
        held.pop_all()  # the loop releases it
    return replace(job, findings=diagnosis.findings, remarks=remarks, again=again, going_on=going_on)


def _take_limits(job: Job) -> str:
    """Write the new limits of a run that goes on into its configuration, and return what becomes of it."""
    loop, folder = job.loop, job.loop.folder
    given = {"fingerprint": loop.store.fingerprint, "held_out": loop.held_out}
    sentence = "" if begins(folder) else describe_going_on(folder, loop.config.train, **given)
    remarks = read_remarks(folder.config_file.read_text(encoding="utf-8"))
    folder.write_config(write_run_config(loop.config, folder, remarks))
    return sentence


def check_agreement(group: ProcessGroup, job: Job) -> None:
    """Refuse a training whose processes would not do the same.

    Args:
        group: the process group.
        job: the job of this process.

    Raises:
        ConfigError: another process has another version, configuration, vocabulary or other data.
    """
    loop = job.loop
    settings = loop.config.model_dump_json(exclude={"data": {"train", "valid", "test"}, "init": True})
    mine = {
        "versions of seq2see and torch": f"{seq2see.__version__}, {torch.__version__}",
        "configuration": _hash(settings),
        "training data": loop.store.fingerprint,
        "held-out data": loop.held_out,
        "vocabulary": _hash(json.dumps([loop.task.source.to_json(), loop.task.target.to_json()])),
    }
    told = TypeAdapter(list[dict[str, str]]).validate_python(group.exchange(dict(mine)))
    for name in mine:
        for rank, other in enumerate(told):
            if other.get(name) != told[0].get(name):
                raise ConfigError(
                    f"all processes of a training must have the same {name}; process {rank} has another than process 0."
                )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
