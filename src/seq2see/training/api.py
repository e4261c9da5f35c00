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
from seq2see.training.job import Job
from seq2see.training.prepare import prepare_training
from seq2see.training.progress import ProgressView, choose_display, showing_preparation
from seq2see.training.request import TrainingRequest, request_config, request_data, request_resume
from seq2see.training.training_data import StrPath, discarding_data, name_new_folder, place_splits, split_data

CONFIG_ENDINGS = (".yaml", ".yml")
STOPPING = "stopping after this update; once more stops at once without saving"


class Training(Iterator[Event]):
    """A training as an iterator of its events; `close`, or losing it, saves a checkpoint to go on from.

    Args:
        job: the prepared training; it starts with the first event that is asked for.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._events = _follow(job)
        self._finished: Finished | None = None

    @property
    def folder(self) -> Path:
        """Return the path of the run folder."""
        return self.job.loop.folder.path

    @property
    def finished(self) -> Finished:
        """Return the last event.

        Raises:
            Seq2SeeError: the training is not over.
        """
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
        self.job.loop.close()

    def load(self) -> Run:
        """Load the run with its best weights so far."""
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
        preset: the name of the preset to start from; None lets the data decide.
        out: the run folder; None makes a new one, `runs/NAME-1` and so on.
        valid: validation data, by which the best weights are chosen; None holds out a share of the training data.
        test: test data, kept for a final score, which only the command line computes; None: none.
        fields: the columns of source and target; None finds them by their names.
        init: a run to start from, with its model, tokenizers and weights (fine-tuning); None starts from scratch.
        progress: whether to show the progress on standard error or in the notebook.
        **settings: keys of the configuration, such as `train={"updates": 500}`, `seed=2` or
            `**{"train.updates": 500}`.

    Returns:
        The run with its best weights.
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
    """Prepare a training, and return it as an iterator of its events, so that the caller has the loop of `train`.

    Every event is a `Resumed`, `Stepped`, `Validated` or `Finished`.

    Args:
        data: the training data, in any form that `train` takes.
        preset: the name of the preset to start from; None lets the data decide.
        out: the run folder; None makes a new one, `runs/NAME-1` and so on.
        valid: validation data; None holds out a share of the training data.
        test: test data; None: none.
        fields: the columns of source and target; None finds them by their names.
        init: a run to start from (fine-tuning); None starts from scratch.
        **settings: keys of the configuration, as for `train`.
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
        updates: the total number of updates, more than were made; None keeps the configured number.
        patience: another train.patience, for a run that stopped early (0: never stop early); None keeps it.
        progress: whether to show the progress on standard error or in the notebook.
        trust: whether the run may execute the code of its own that it names.
    """
    request = resume_request(run, updates=updates, patience=patience, trust=trust)
    return train_to_end(request, progress=progress)


def resume_request(
    run: StrPath, *, updates: int | None = None, patience: int | None = None, trust: bool = False
) -> TrainingRequest:
    """Return the request to go on with a run; see `resume`.

    Args:
        run: a run or its folder.
        updates: the total number of updates; None keeps the configured number.
        patience: another train.patience; None keeps it.
        trust: whether the run may execute the code of its own that it names.
    """
    folder = RunFolder(Path(run))
    admit(folder.read_config().model_dump(), [folder.path / "code"], trust=trust, owner=str(folder.path))
    return request_resume(folder, updates=updates, patience=patience)


def train_request(request: TrainingRequest, *, console: Console) -> Training:
    """Train what is requested, and show what happens on the console; Ctrl-C saves a checkpoint first.

    Args:
        request: what to train, on what, and where.
        console: where progress, warnings and the time that it will take are shown.

    Raises:
        KeyboardInterrupt: the training was stopped before it was complete; its checkpoint is saved.
    """
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
    """Train what is requested, and return the run with its best weights.

    Args:
        request: what to train, on what, and where.
        progress: whether to show the progress on standard error or in the notebook.
    """
    console = make_console(quiet=not progress)
    training = train_request(request, console=console)
    console.print(f"run: {training.folder}", soft_wrap=True)
    return training.load()


def make_console(*, quiet: bool = False) -> Console:
    """Return a console on standard error.

    Args:
        quiet: whether it prints nothing.
    """
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
    """Return the request behind the arguments of `train`; Python objects are written into the run folder first.

    Args:
        data: the training data, or a configuration file, in any form that `train` takes.
        preset: the name of the preset to start from; None lets the data decide.
        out: the run folder; None makes a new name below `runs`.
        valid: validation data; None: as in `data`, else a share of the training data.
        test: test data; None: as in `data`, else none.
        fields: the columns of source and target; None finds them by their names.
        init: a run to start from; None starts from scratch.
        settings: keys of the configuration: a dictionary, or `key=value` texts and pairs of key and value.
    """
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
