"""Training from Python: `seq2see.train(data)`, `seq2see.fit(data)` and `seq2see.resume(run)`."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from seq2see.config.settings import Setting, spread_settings
from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.data.formats.in_memory import Fields
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run, load
from seq2see.system.foreign_code import admit
from seq2see.training.description import describe_findings, describe_job
from seq2see.training.events import Event, Finished
from seq2see.training.interrupts import catching_interrupts
from seq2see.training.prepare import Job, prepare_training
from seq2see.training.progress import ProgressView, choose_display, showing_preparation
from seq2see.training.request import TrainingRequest, request_config, request_data, request_resume
from seq2see.training.training_data import StrPath, discarding_data, name_new_folder, place_splits, split_data

CONFIG_ENDINGS = (".yaml", ".yml")
STOPPING = "stopping after this update; once more stops at once without saving"


class Training(Iterator[Event]):
    """A training as an iterator of its events; `close`, or losing it, saves a checkpoint to go on from.

    Args:
        job: what is trained.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._events = _follow(job)
        self._finished: Finished | None = None

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.job.loop.folder.path

    @property
    def finished(self) -> Finished:
        """The last event; it is an error to ask for it before the training is over."""
        if self._finished is None:
            raise Seq2SeeError(f"the training in {self.folder} is not over; go on with it first.")
        return self._finished

    def __next__(self) -> Event:
        event = next(self._events)
        if isinstance(event, Finished):
            self._finished = event
        return event

    def close(self) -> None:
        """End the training; the same call goes on with it, bit for bit."""
        self._events.close()

    def load(self) -> Run:
        """The run with its best weights so far."""
        return load(self.folder, trust=True)


def train(
    data: object,
    /,
    *,
    preset: str | None = None,
    out: StrPath | None = None,
    valid: object = None,
    test: object = None,
    fields: Fields | None = None,
    init: StrPath | None = None,
    progress: bool = True,
    **settings: object,
) -> Run:
    """Train a model on your pairs. The same call with the same `out` goes on where it was stopped.

    Args:
        data: a file or folder, two parallel files as a tuple, a list of pairs (source, target), an iterable of pairs
            or of dictionaries, a data frame (pandas, polars), a data set of Hugging Face, a dictionary of such splits
            (train, valid, test), or a configuration file (.yaml).
        preset: the paper to start from; if none is given, the data decides.
        out: the run folder; if none is given, a new one, `runs/NAME-1` and so on.
        valid: data to choose the best weights by; if none is given, a share of the data is held out.
        test: data for the final score.
        fields: the columns of source and target, where their names do not say it.
        init: a run to start from, with its model, tokenizers and weights (fine-tuning).
        progress: whether to show what happens.
        **settings: keys of the configuration, such as `train={"updates": 500}`, `seed=2` or
            `**{"train.updates": 500}`.
    """
    request = make_request(
        data, preset=preset, out=out, valid=valid, test=test, fields=fields, init=init, settings=settings
    )
    return train_to_end(request, progress=progress)


def fit(
    data: object,
    /,
    *,
    preset: str | None = None,
    out: StrPath | None = None,
    valid: object = None,
    test: object = None,
    fields: Fields | None = None,
    init: StrPath | None = None,
    **settings: object,
) -> Training:
    """Prepare a training, and return it as an iterator of its events: the loop of `train` in your own hands.

    The arguments are those of `train`. Every event is a `Resumed`, `Stepped`, `Validated` or `Finished`.
    """
    request = make_request(
        data, preset=preset, out=out, valid=valid, test=test, fields=fields, init=init, settings=settings
    )
    return Training(prepare_training(request))


def resume(
    run: StrPath,
    /,
    *,
    updates: int | None = None,
    patience: int | None = None,
    progress: bool = True,
    trust: bool = False,
) -> Run:
    """Go on with the training of a run, in its own folder.

    With a constant schedule, N updates and then M more give the weights of N + M updates in one go, bit for bit (if N
    is a multiple of train.validate_every).

    Args:
        run: a run or its folder.
        updates: how many updates to make in all, if more than were planned.
        patience: another train.patience, for a run that stopped early (0: never stop early).
        progress: whether to show what happens.
        trust: whether to run code of its own that the run names.
    """
    request = resume_request(run, updates=updates, patience=patience, trust=trust)
    return train_to_end(request, progress=progress)


def resume_request(
    run: StrPath, *, updates: int | None = None, patience: int | None = None, trust: bool = False
) -> TrainingRequest:
    """The request to go on with a run; see `resume`."""
    folder = RunFolder(Path(run))
    admit(folder.read_config().model_dump(), [folder.path / "code"], trust=trust, owner=str(folder.path))
    return request_resume(folder, updates=updates, patience=patience)


def train_request(request: TrainingRequest, *, console: Console) -> Training:
    """Train what is requested, and show what happens on the console; Ctrl-C saves a checkpoint first."""
    with showing_preparation(console) as tell:
        training = Training(prepare_training(request, progress=tell))
    job = training.job
    for line in () if job.again else describe_findings(job.findings):
        console.print(line, soft_wrap=True)
    config = job.loop.config.train
    with closing(job.loop):
        for line in describe_job(job):
            console.print(line)
        display = choose_display(console, total=config.updates)
        view = ProgressView(display, total=config.updates, unit=job.loop.task.unit)
        with catching_interrupts(lambda: console.print(STOPPING)) as asked, display:
            for event in training:
                view.show(event)
                if asked and not job.loop.state.complete:
                    training.close()
                    break
    state = job.loop.state
    if not state.complete:
        console.print(f"Stopped at update {state.update:,}; everything is saved in {training.folder}.")
        raise KeyboardInterrupt
    return training


def train_to_end(request: TrainingRequest, *, progress: bool) -> Run:
    """Train what is requested, and return the run."""
    console = make_console(quiet=not progress)
    training = train_request(request, console=console)
    console.print(f"run: {training.folder}", soft_wrap=True)
    return training.load()


def make_console(*, quiet: bool = False) -> Console:
    """Where people read what happens: standard error."""
    return Console(stderr=True, highlight=False, markup=False, quiet=quiet)


def make_request(
    data: object,
    *,
    preset: str | None = None,
    out: StrPath | None = None,
    valid: object = None,
    test: object = None,
    fields: Fields | None = None,
    init: StrPath | None = None,
    settings: Mapping[str, object] | Sequence[Setting],
) -> TrainingRequest:
    """The request behind the arguments of `train`."""
    chosen: list[Setting] = [("preset", preset)] if preset is not None else []
    chosen += [("init.run", str(Path(init).absolute()))] if init is not None else []
    chosen += spread_settings(settings) if isinstance(settings, Mapping) else settings
    file = Path(data) if isinstance(data, str | os.PathLike) else None
    folder = Path(out) if out is not None else name_new_folder(file.stem if file is not None else preset or "run")
    _refuse_run(data)
    held_out = {name: each for name, each in (("valid", valid), ("test", test)) if each is not None}
    is_config = file is not None and file.suffix in CONFIG_ENDINGS
    placed = place_splits(held_out if is_config else {**split_data(data), **held_out}, RunFolder(folder), fields)
    if placed.fields is not None:
        chosen = [("data.fields", list(placed.fields)), *chosen]
    with discarding_data(RunFolder(folder), written=placed.written):
        if file is not None and is_config:
            request = request_config(file, folder=folder, held_out=placed.origins, settings=chosen)
        else:
            request = request_data(placed.origins, folder=folder, settings=chosen)
    return replace(request, wrote_data=placed.written)


def _refuse_run(data: object) -> None:
    """Refuse a run in the place of data, and say how to go on with it."""
    if isinstance(data, str | os.PathLike) and RunFolder(Path(data)).has_task:
        raise ConfigError(
            f"{os.fspath(data)} holds a run; to go on with it, resume it (seq2see resume); to start from its weights, "
            "give data, and the run as init."
        )


def _follow(job: Job) -> Generator[Event, None, None]:
    """The events of a training; closing this early saves a checkpoint."""
    with closing(job.loop):
        for event in job.loop.run():
            try:
                yield event
            except GeneratorExit:
                job.loop.pause()
                raise
