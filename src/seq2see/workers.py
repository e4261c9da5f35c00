"""Workers: processes of one thread each that share the texts among them, for large inputs."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.run import Decoding, Run, load
from seq2see.search.hypothesis import Watch
from seq2see.tasks.demands import Prefix
from seq2see.tasks.task import Output


@contextmanager
def hire(run: Run, workers: int) -> Iterator[Run]:
    """The same run with so many workers behind it; one worker is this process itself.

    Each worker decodes whole batches, the very ones that a single process would make, so outputs are the same.
    """
    if workers <= 1:
        yield run
        return
    paths = [one.folder.path.absolute() for one in (run, *run.others)]
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _open, (paths,))
    try:
        yield SharedRun(**vars(run), pool=pool)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class SharedRun(Run):
    """A run whose texts are decoded by workers."""

    pool: ProcessPoolExecutor = field(kw_only=True, repr=False, compare=False)

    def decode(
        self, texts: Sequence[str], prefixes: Sequence[Prefix], how: Decoding, watch: Watch | None = None
    ) -> list[list[Output]]:
        if watch is not None:
            raise Seq2SeeError("workers cannot be watched; take one worker.")
        plan = self.task.plan(texts, how.search)
        results: list[list[Output]] = [[Output("", 0.0, (), (), text)] for text in texts]
        jobs = [
            ([texts[row] for row in rows], [prefixes[row] for row in rows] if prefixes else (), how) for rows in plan
        ]
        try:
            for rows, outputs in zip(plan, self.pool.map(_decode, jobs), strict=True):
                for row, output in zip(rows, outputs, strict=True):
                    results[row] = output
        except BrokenProcessPool:
            raise Seq2SeeError("a worker ended early, perhaps for want of memory; take fewer workers.") from None
        return results


_runs: list[Run] = []  # the one run of a worker


def _open(paths: Sequence[Path]) -> None:
    torch.set_num_threads(1)
    _runs.append(load(paths, trust=True))  # whoever hired this worker has loaded the same folders before


def _decode(job: tuple[Sequence[str], Sequence[Prefix], Decoding]) -> list[list[Output]]:
    return _runs[0].decode(*job)
