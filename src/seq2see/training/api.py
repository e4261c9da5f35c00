"""Training from Python: `seq2see.train(data)`, `seq2see.fit(data)` and `seq2see.resume(run)`."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from seq2see.core.errors import Seq2SeeError
from seq2see.data.formats.in_memory import Fields
from seq2see.runs.run import Run, load
from seq2see.system.console import make_console
from seq2see.training.arguments import make_request, resume_request
from seq2see.training.description import describe_findings, describe_job
from seq2see.training.events import Event, Finished
from seq2see.training.follow import follow
from seq2see.training.interrupts import catching_interrupts
from seq2see.training.job import Job
from seq2see.training.launch import prepare_training
from seq2see.training.outcome import describe_outcome, evaluate_job, write_outcome
from seq2see.training.progress import ProgressView, choose_display, showing_preparation
from seq2see.training.rendezvous import find_launch
from seq2see.training.request import TrainingRequest
from seq2see.training.training_data import StrPath

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
        return load(self.folder, trust=True, device=str(self.job.loop.model.device))

    def evaluate(self) -> Run:
        """Score the run on the test data (on the validation data without any), and write report.html and its figures.

        Returns:
            The run with its best weights; `run.evaluation` has the metrics and predictions.
        """
        run, result = evaluate_job(self.job, self.load())
        write_outcome(run, result)
        return replace(run, evaluation=result)


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
        test: test data, scored once, at the end; None: the final score is of the validation data.
        fields: the columns of source and target; None finds them by their names.
        init: a run to start from, with its model, tokenizers and weights (fine-tuning); None starts from scratch.
        progress: whether to show the progress on standard error or in the notebook.
        **settings: keys of the configuration, such as `train={"updates": 500}`, `seed=2` or
            `**{"train.updates": 500}`.

    Returns:
        The run with its best weights. Its final score is in `run.evaluation`, and `report.html` in its folder shows it.
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


def train_request(request: TrainingRequest, *, console: Console) -> Training:
    """Train what is requested, and show what happens on the console; Ctrl-C saves a checkpoint first.

    Args:
        request: what to train, on what, and where.
        console: where progress, warnings and the time that it will take are shown.

    Raises:
        KeyboardInterrupt: the training was stopped before it was complete; its checkpoint is saved.
    """
    launch = find_launch()
    if launch is not None and launch.rank > 0:
        follow_request(request)
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


def follow_request(request: TrainingRequest) -> NoReturn:
    """Take part in a training that torchrun started in several processes, and end this one, which has not rank 0.

    Args:
        request: what to train, on what, and where.
    """
    job = prepare_training(request)
    with catching_interrupts(lambda: None) as asked:
        follow(job, lambda: bool(asked))
    raise SystemExit(0)


def train_to_end(request: TrainingRequest, *, progress: bool) -> Run:
    """Train what is requested, evaluate the run with its best weights, and return it.

    Args:
        request: what to train, on what, and where.
        progress: whether to show the progress on standard error or in the notebook.
    """
    console = make_console(quiet=not progress)
    run = train_request(request, console=console).evaluate()
    for line in describe_outcome(run):
        console.print(line, soft_wrap=True)
    return run


def _follow(job: Job) -> Generator[Event, None, None]:
    """The events of a training; closing this early saves a checkpoint."""
    with closing(job.loop):
        for event in job.loop.run():
            try:
                yield event
            except GeneratorExit:
                job.loop.pause()
                raise
