"""Workers: processes of one thread each that share the texts among them, for large inputs."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.core.process import serve_parent, starting_deaf
from seq2see.run import Decoding, Run, load
from seq2see.search.hypothesis import Search, Watch
from seq2see.tasks.demands import Prefix
from seq2see.tasks.task import Output

FEW = 200  # sources; fewer make too few batches to share
WORTH = 2e10  # sources x hypotheses x parameters: some fifteen seconds of a core, where a worker takes three to start
LEAST = 1_000_000  # parameters that a model is counted as: steps of a smaller one take as long
PICTURE = 20_000_000  # what a picture is counted as beside: its encoder's few parameters go over every place of it


def choose_workers(run: Run, sources: int, search: Search) -> int:
    """One worker a core where the work takes much longer than starting them, else this process alone."""
    costs = [_count_cost(one, search.width) for one in (run, *run.others)]
    return torch.get_num_threads() if sources >= FEW and sources * sum(costs) >= WORTH else 1


def _count_cost(run: Run, width: int) -> int:
    """What one source costs."""
    parameters = max(sum(parameter.numel() for parameter in run.model.parameters()), LEAST)
    picture = PICTURE if "picture_size" in run.task.source.sizes else 0
    return picture + parameters * (width if run.config.task == "transduction" else 1)


@contextmanager
def hire(run: Run, workers: int) -> Iterator[Run]:
    """The same run with so many workers behind it, all ready; one worker is this process itself.

    Each worker decodes whole batches, as a single process would, so outputs are the same.
    """
    if workers <= 1:
        yield run
        return
    paths = [one.folder.path.absolute() for one in (run, *run.others)]
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _open, (paths,))
    try:
        ready: set[int] = set()
        while len(ready) < workers:
            ready |= set(_share(pool, _greet, range(workers)))
        yield SharedRun(**vars(run), pool=pool, workers=workers)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class SharedRun(Run):
    """A run whose texts are decoded by workers."""

    pool: ProcessPoolExecutor = field(kw_only=True, repr=False, compare=False)
    workers: int = field(kw_only=True)

    def decode(
        self, texts: Sequence[str], prefixes: Sequence[Prefix], how: Decoding, watch: Watch | None = None
    ) -> list[list[Output]]:
        if watch is not None:
            raise Seq2SeeError("workers cannot be watched; take one worker.")
        plan = self.task.plan(texts, how.search, workers=self.workers)
        results: list[list[Output]] = [[Output("", 0.0, (), (), text)] for text in texts]
        jobs = [
            ([texts[row] for row in rows], [prefixes[row] for row in rows] if prefixes else (), how) for rows in plan
        ]
        for rows, outputs in zip(plan, _share(self.pool, _decode, jobs), strict=True):
            for row, output in zip(rows, outputs, strict=True):
                results[row] = output
        return results


def _share(pool: ProcessPoolExecutor, do: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
    """What becomes of each job, in order."""
    try:
        with starting_deaf():
            results = pool.map(do, jobs)
        yield from results
    except BrokenProcessPool:
        raise Seq2SeeError("a worker ended early, perhaps for want of memory; take fewer workers.") from None


_runs: list[Run] = []  # the one run of a worker


def _open(paths: Sequence[Path]) -> None:
    serve_parent()
    torch.set_num_threads(1)
    _runs.append(load(paths, trust=True))  # whoever hired this worker has loaded the same folders before


def _decode(job: tuple[Sequence[str], Sequence[Prefix], Decoding]) -> list[list[Output]]:
    return _runs[0].decode(*job)


def _greet(_: int) -> int:
    """Who does this job, slowly enough for others to take one too."""
    time.sleep(0.02)
    return os.getpid()
