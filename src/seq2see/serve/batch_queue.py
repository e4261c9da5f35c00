"""Dynamic batching: texts of many clients wait in one queue; one thread decodes those with equal options together."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.errors import Seq2SeeError
from seq2see.runs.decoding import Decoding
from seq2see.runs.run import Prediction, Run
from seq2see.search.hypothesis import Hypothesis, SearchObserver
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.requests import RequestError
from seq2see.tasks.constraints import Prefix

# batch-mates change the last bits of a number (about 1e-6); a text with a decision narrower than this margin is decoded
# again alone, so that batch-mates never change a reply
NARROW_MARGIN = 1e-4
GATHER_SECONDS = 0.003  # how long a batch waits for more texts, when the queue was not empty a moment ago

log = logging.getLogger("seq2see.serve")


@dataclass(eq=False)
class DecodeJob:
    """One text to decode, or one thing to do on the thread of the model, and where its result goes."""

    act: Callable[[Any], object]  # makes the result, on the thread of the model, from the prediction
    run: Run | None = None
    decoding: Decoding | None = None
    key: Hashable = None  # jobs with equal keys may be decoded together; None: alone
    text: str = ""
    prefix: Prefix = ""
    cost: int = 0  # source tokens times hypotheses
    listen: Callable[[Sequence[Hypothesis]], None] | None = None  # is called with the contenders after every step
    result: "Future[Any]" = field(default_factory=lambda: _make_future())
    cancelled: bool = False  # nobody waits for the result any more


class Batcher:
    """A queue with a bound and a thread behind it."""

    def __init__(self, *, queue: int, budget: int, metrics: ServerMetrics) -> None:
        self.limit, self.budget, self.metrics = queue, budget, metrics
        self.waiting: list[DecodeJob] = []
        self.running: list[DecodeJob] = []
        self.seconds_a_job = 0.05  # a moving average
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="seq2see-model", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def accepting(self) -> bool:
        """Whether new jobs are accepted."""
        return not self._closed and self.alive

    @property
    def idle(self) -> bool:
        """Whether everything is done."""
        with self._changed:
            return not self.waiting and not self.running

    def submit(self, jobs: Sequence[DecodeJob]) -> None:
        """Put jobs into the queue, all or none."""
        with self._changed:
            if self._closed:
                raise RequestError(
                    "the server is about to stop; try again later.", status=503, headers={"Retry-After": "5"}
                )
            if len(self.waiting) + len(jobs) > self.limit:
                seconds = max(1, round(len(self.waiting) * self.seconds_a_job))
                raise RequestError(
                    f"the queue is full ({len(self.waiting)} of {self.limit} texts wait); try again in {seconds} s.",
                    status=429,
                    headers={"Retry-After": str(seconds)},
                )
            self.waiting += jobs
            self._changed.notify_all()

    def cancel(self, jobs: Sequence[DecodeJob]) -> None:
        """Cancel jobs: those in the queue are removed, and the search stops those that are decoded."""
        with self._changed:
            for job in jobs:
                job.cancelled = True
            self.waiting = [job for job in self.waiting if not job.cancelled]

    def drain(self) -> None:
        """Accept nothing new; when everything is done, the thread ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self, *, seconds: float = 5.0) -> None:
        """Accept nothing new, cancel what is there, and wait for the thread to end."""
        self.drain()
        self.cancel([*self.waiting, *self.running])
        self._thread.join(seconds)

    def _work(self) -> None:
        while True:
            jobs = self._take()
            if not jobs:
                return
            began = time.perf_counter()
            try:
                self._serve(jobs)
            finally:
                with self._changed:
                    self.running = []
            self.seconds_a_job = 0.8 * self.seconds_a_job + 0.2 * (time.perf_counter() - began) / len(jobs)

    def _take(self) -> list[DecodeJob]:
        """The oldest job and all that may be decoded with it; none after the queue was closed."""
        with self._changed:
            busy = bool(self.waiting)  # texts came while others were decoded: more are likely to
            self._changed.wait_for(lambda: self.waiting or self._closed)
            if busy and self.budget:
                self._changed.wait_for(lambda: self._closed or self._full(), timeout=GATHER_SECONDS)
            jobs = self._choose()
            self.waiting = [job for job in self.waiting if job not in jobs]
            self.running = jobs
            return jobs

    def _full(self) -> bool:
        return sum(job.cost for job in self._choose()) >= self.budget

    def _choose(self) -> list[DecodeJob]:
        if not self.waiting:
            return []
        first, *others = self.waiting
        jobs, cost = [first], first.cost
        for job in others if first.key is not None and self.budget else ():
            if job.key == first.key and cost + job.cost <= self.budget:
                jobs.append(job)
                cost += job.cost
        return jobs

    def _serve(self, jobs: Sequence[DecodeJob]) -> None:
        """Decode jobs together; those with a narrow decision, and all of them if one fails, again alone."""
        self.metrics.batch_size.observe(len(jobs))
        again: Sequence[DecodeJob] = jobs
        if len(jobs) > 1:
            try:
                again = self._decode(jobs)
            except Exception:  # one of them may be wrong; each gets its own result
                log.debug("a batch failed", exc_info=True)
            self.metrics.redecoded.add(len(again))
        for job in again:
            if not job.cancelled and not job.result.done():
                self._serve_alone(job)

    def _decode(self, jobs: Sequence[DecodeJob]) -> list[DecodeJob]:
        """Finish all jobs that were decoded without a narrow decision; returns the others."""
        run, decoding = jobs[0].run, jobs[0].decoding
        assert run is not None
        assert decoding is not None
        observer = QueueObserver(jobs)
        predictions = predict(run, decoding, jobs, observer)
        for place, (job, prediction) in enumerate(zip(jobs, predictions, strict=True)):
            if place not in observer.narrow:
                self._finish(job, prediction)
        return [job for place, job in enumerate(jobs) if place in observer.narrow]

    def _serve_alone(self, job: DecodeJob) -> None:
        try:
            prediction = None
            if job.run is not None and job.decoding is not None:
                prediction = predict(job.run, job.decoding, [job], QueueObserver([job], alone=True))[0]
        except Exception as error:
            _fail(job, error)
            return
        self._finish(job, prediction)

    def _finish(self, job: DecodeJob, prediction: Prediction | None) -> None:
        if job.cancelled:
            return
        try:
            job.result.set_result(job.act(prediction))
        except Exception as error:
            _fail(job, error)


class QueueObserver(SearchObserver):
    """Stops cancelled jobs of a batch, tells listeners of each step, and notes which decisions were narrow."""

    def __init__(self, jobs: Sequence[DecodeJob], *, alone: bool = False) -> None:
        self.jobs, self.alone = jobs, alone
        self.narrow: set[int] = set()

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        for source in sources:
            listen = self.jobs[source].listen
            if listen is not None and source not in self.narrow and not self.jobs[source].cancelled:
                listen(contenders(source))
        return {source for source in sources if self.jobs[source].cancelled or source in self.narrow}

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        if not self.alone:
            self.narrow.update(sources[margins < NARROW_MARGIN].tolist())


def predict(run: Run, decoding: Decoding, jobs: Sequence[DecodeJob], observer: SearchObserver) -> list[Prediction]:
    """The predictions of jobs that are decoded together."""
    texts, prefixes = [job.text for job in jobs], [job.prefix for job in jobs]
    return run.predict(texts, prefix=prefixes, decoding=decoding, observer=observer)


def count_cost(run: Run, decoding: Decoding, text: str) -> int:
    """The tokens of a source, times its hypotheses."""
    return count_tokens(run, text) * decoding.search.width


def count_tokens(run: Run, source: str) -> int:
    """The tokens of a source; an image counts as a long text."""
    return run.task.source.cost(source)


def count_heads(run: Run) -> int:
    """The heads of all attentions of a model; an attention has their number, or the module around it."""
    modules = dict(run.model.named_modules())
    found = [(name.rpartition(".")[0], module) for name, module in modules.items() if hasattr(module, "normalise")]
    owners = [module if hasattr(module, "heads") else modules.get(parent) for parent, module in found]
    return sum(getattr(owner, "heads", 1) for owner in owners) or 1


def _fail(job: DecodeJob, error: Exception) -> None:
    if not isinstance(error, Seq2SeeError):
        log.error("a job failed", exc_info=error)
    if not job.cancelled:
        job.result.set_exception(error)


def _make_future() -> "Future[Any]":
    """A future that cannot be cancelled: `Batcher.cancel` cancels its job."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
