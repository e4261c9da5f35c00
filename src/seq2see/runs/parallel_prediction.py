"""Prediction in parallel: worker processes of one thread each that share the inputs, for large files."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.core.interventions import Intervention, changing, list_interventions
from seq2see.runs.decoding import Decoding
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run, load
from seq2see.search.hypothesis import Search, SearchObserver
from seq2see.system.processes import serve_parent, starting_workers
from seq2see.tasks.constraints import Prefix
from seq2see.tasks.task import Output

MIN_SOURCES_FOR_WORKERS = 200  # fewer make too few batches to share
# sources x hypotheses x parameters: some fifteen seconds of a core, where a worker takes three to start
MIN_COST_FOR_WORKERS = 2e10
MIN_PARAMETERS = 1_000_000  # a smaller model counts as this many: its steps take as long
# parameters that a source counts as beside its model: an image encoder goes over every position of an image
SOURCE_COSTS = {"text": 0, "images": 20_000_000}

# texts, prefixes, how they are decoded, and the interventions in each run
DecodingJob = tuple[Sequence[str], Sequence[Prefix], Decoding, Sequence[Sequence[Intervention]]]
Job = TypeVar("Job")
Result = TypeVar("Result")


def choose_workers(run: Run, sources: int, search: Search) -> int:
    """Return one worker a core where decoding takes much longer than starting them, else 1: this process alone.

    Args:
        run: the run.
        sources: how many sources are to be predicted.
        search: the search, whose width is the number of hypotheses of each source.
    """
    costs = [_count_cost(one, search.width) for one in (run, *run.others)]
    if run.model.device.type != "cpu":
        return 1  # processes would wait for one accelerator
    enough = sources >= MIN_SOURCES_FOR_WORKERS and sources * sum(costs) >= MIN_COST_FOR_WORKERS
    return torch.get_num_threads() if enough else 1


def _count_cost(run: Run, width: int) -> int:
    """Return what one source costs, in parameters times hypotheses."""
    parameters = max(sum(parameter.numel() for parameter in run.model.parameters()), MIN_PARAMETERS)
    hypotheses = width if run.task.writes_text else 1
    return SOURCE_COSTS[run.task.source.reads] + parameters * hypotheses


@contextmanager
def start_workers(run: Run, workers: int) -> Iterator[Run]:
    """Start workers for a run, and end them after the `with` block.

    Each worker decodes whole batches, as a single process would, so outputs are the same.

    Args:
        run: the run; each worker loads its folder.
        workers: how many processes decode; 1 or less starts none.

    Yields:
        The run whose texts the workers decode; with one worker, the same run.
    """
    if workers <= 1:
        yield run
        return
    runs = (run, *run.others)
    paths = [one.folder.path.absolute() for one in runs]
    trust = any(one.trust for one in runs)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _open, (paths, trust, str(run.model.device)))
    try:
        ready: set[int] = set()
        while len(ready) < workers:
            ready |= set(_share(pool, _greet, range(workers)))
        yield SharedRun(**vars(run), alone=run, pool=pool, workers=workers)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class SharedRun(Run):
    """A run whose texts are decoded by workers.

    Args:
        alone: the run without workers, to which the predictions belong.
        pool: the processes, each of which has loaded the run.
        workers: how many they are.
    """

    alone: Run = field(kw_only=True, repr=False, compare=False)
    pool: ProcessPoolExecutor = field(kw_only=True, repr=False, compare=False)
    workers: int = field(kw_only=True)

    def decode(
        self,
        texts: Sequence[str],
        prefixes: Sequence[Prefix],
        decoding: Decoding,
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        if observer is not None:
            raise Seq2SeeError("an observer needs the search in its own process; got workers; take one worker.")
        plan = self.task.plan(texts, decoding.search, workers=self.workers)
        results: list[list[Output]] = [[Output("", 0.0, (), (), text)] for text in texts]
        changes = [list_interventions(one.model) for one in (self, *self.others)]
        jobs = [
            ([texts[row] for row in rows], [prefixes[row] for row in rows] if prefixes else (), decoding, changes)
            for rows in plan
        ]
        for rows, outputs in zip(plan, _share(self.pool, _decode, jobs), strict=True):
            for row, output in zip(rows, outputs, strict=True):
                results[row] = output
        return results

    def _wrap(self, outputs: Sequence[Output]) -> Prediction:
        return self.alone._wrap(outputs)


def _share(pool: ProcessPoolExecutor, do: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield the result of each job, in order."""
    try:
        with starting_workers():
            results = pool.map(do, jobs)
        yield from results
    except BrokenProcessPool:
        raise Seq2SeeError(
            "a worker process ended early; if the system ended it for want of memory, take fewer workers."
        ) from None


_opened: list[Run | Seq2SeeError] = []  # the one run of a worker, or why it could not be loaded


def _open(paths: Sequence[Path], trust: bool, device: str) -> None:
    serve_parent()
    torch.set_num_threads(1)
    try:
        _opened.append(load(paths, trust=trust, device=device))
    except Seq2SeeError as error:
        _opened.append(error)  # an error here would end the worker without a word


def _get_run() -> Run:
    opened = _opened[-1]
    if isinstance(opened, Seq2SeeError):
        raise opened
    return opened


def _decode(job: DecodingJob) -> list[list[Output]]:
    texts, prefixes, decoding, interventions = job
    run = _get_run()
    with ExitStack() as stack:
        for one, changes in zip((run, *run.others), interventions, strict=True):
            stack.enter_context(changing(one.model, changes))
        return run.decode(texts, prefixes, decoding)


def _greet(_: int) -> int:
    """Return the id of the process that does this job, slowly enough for others to take one too."""
    _get_run()
    time.sleep(0.02)
    return os.getpid()
