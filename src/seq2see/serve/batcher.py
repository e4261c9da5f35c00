"""The batcher: texts of many clients wait in one queue, and one thread decodes those together that may be."""

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
from seq2see.run import Decoding, Prediction, Run
from seq2see.search.hypothesis import Hypothesis, Watch
from seq2see.serve.meter import Meter
from seq2see.serve.schema import RefusalError
from seq2see.tasks.demands import Prefix

# batch-mates change the last bits of a number (about 1e-6); where a decision was narrower than this, it is taken
# again alone, so that company never changes an answer
NARROW = 1e-4
GATHER = 0.003  # seconds to wait for company, when others were served a moment ago

log = logging.getLogger("seq2see.serve")


@dataclass(eq=False)
class Job:
    """One text to decode, or one thing to do, and where its answer goes."""

    act: Callable[[Any], Any]  # makes the answer, on the thread of the model, from the prediction
    run: Run | None = None
    how: Decoding | None = None
    key: Hashable = None  # jobs with one key may be decoded together
    text: str = ""
    prefix: Prefix = ""
    cost: int = 0  # source tokens times hypotheses
    hear: Callable[[Sequence[Hypothesis]], None] | None = None  # who wants to know after every step
    answer: "Future[Any]" = field(default_factory=lambda: _promise())
    gone: bool = False  # nobody waits for the answer any more


class Batcher:
    """A queue with a bound and a thread behind it."""

    def __init__(self, *, queue: int, budget: int, meter: Meter) -> None:
        self.limit, self.budget, self.meter = queue, budget, meter
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.pace = 0.05  # seconds a job takes of late
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="seq2see-model", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether anybody works."""
        return self._thread.is_alive()

    @property
    def taking(self) -> bool:
        """Whether new jobs are taken."""
        return not self._closed and self.alive

    @property
    def idle(self) -> bool:
        """Whether everything is done."""
        with self._changed:
            return not self.waiting and not self.running

    def submit(self, jobs: Sequence[Job]) -> None:
        """Put jobs into the queue, all or none."""
        with self._changed:
            if self._closed:
                raise RefusalError(
                    "the server is about to stop; ask again later.", status=503, headers={"Retry-After": "5"}
                )
            if len(self.waiting) + len(jobs) > self.limit:
                seconds = max(1, round(len(self.waiting) * self.pace))
                raise RefusalError(
                    f"the queue is full ({len(self.waiting)} of {self.limit} texts wait); ask again in {seconds} s.",
                    status=429,
                    headers={"Retry-After": str(seconds)},
                )
            self.waiting += jobs
            self._changed.notify_all()

    def leave(self, jobs: Sequence[Job]) -> None:
        """Nobody waits for these any more: those in the queue make room, those at work are called off."""
        with self._changed:
            for job in jobs:
                job.gone = True
            self.waiting = [job for job in self.waiting if not job.gone]

    def refuse(self) -> None:
        """Take nothing new; when everything is done, the thread ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self, *, seconds: float = 5.0) -> None:
        """Take nothing new, call off what is there, and wait for the thread to end."""
        self.refuse()
        self.leave([*self.waiting, *self.running])
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
            self.pace = 0.8 * self.pace + 0.2 * (time.perf_counter() - began) / len(jobs)

    def _take(self) -> list[Job]:
        """The oldest job and all that may go with it; nothing when the end has come."""
        with self._changed:
            busy = bool(self.waiting)  # somebody came while others were served: more are likely to
            self._changed.wait_for(lambda: self.waiting or self._closed)
            if busy and self.budget:
                self._changed.wait_for(lambda: self._closed or self._full(), timeout=GATHER)
            jobs = self._choose()
            self.waiting = [job for job in self.waiting if job not in jobs]
            self.running = jobs
            return jobs

    def _full(self) -> bool:
        return sum(job.cost for job in self._choose()) >= self.budget

    def _choose(self) -> list[Job]:
        if not self.waiting:
            return []
        first, *others = self.waiting
        jobs, cost = [first], first.cost
        for job in others if first.key is not None and self.budget else ():
            if job.key == first.key and cost + job.cost <= self.budget:
                jobs.append(job)
                cost += job.cost
        return jobs

    def _serve(self, jobs: Sequence[Job]) -> None:
        """Decode jobs together; those that were narrow, and all of them if one is wrong, again alone."""
        self.meter.batch_size.see(len(jobs))
        again: Sequence[Job] = jobs
        if len(jobs) > 1:
            try:
                again = self._decode(jobs)
            except Exception:  # one of them may be wrong; each gets its own answer
                log.debug("a batch failed", exc_info=True)
            self.meter.again.add(len(again))
        for job in again:
            if not job.gone and not job.answer.done():
                self._serve_alone(job)

    def _decode(self, jobs: Sequence[Job]) -> list[Job]:
        """Answer all that were decoded without a narrow decision; the others come back."""
        run, how = jobs[0].run, jobs[0].how
        assert run is not None
        assert how is not None
        watch = Attendant(jobs)
        predictions = predict(run, how, jobs, watch)
        for place, (job, prediction) in enumerate(zip(jobs, predictions, strict=True)):
            if place not in watch.narrow:
                self._answer(job, prediction)
        return [job for place, job in enumerate(jobs) if place in watch.narrow]

    def _serve_alone(self, job: Job) -> None:
        try:
            prediction = None
            if job.run is not None and job.how is not None:
                prediction = predict(job.run, job.how, [job], Attendant([job], alone=True))[0]
        except Exception as error:
            _fail(job, error)
            return
        self._answer(job, prediction)

    def _answer(self, job: Job, prediction: Prediction | None) -> None:
        if job.gone:
            return
        try:
            job.answer.set_result(job.act(prediction))
        except Exception as error:
            _fail(job, error)


class Attendant(Watch):
    """Looks after the jobs of a batch: who has gone, who listens, and whose decisions were narrow."""

    def __init__(self, jobs: Sequence[Job], *, alone: bool = False) -> None:
        self.jobs, self.alone = jobs, alone
        self.narrow: set[int] = set()

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> Collection[int]:
        for source in sources:
            hear = self.jobs[source].hear
            if hear is not None and source not in self.narrow and not self.jobs[source].gone:
                hear(contenders(source))
        return {source for source in sources if self.jobs[source].gone or source in self.narrow}

    def decide(self, sources: Int[Tensor, " n"], margins: Float[Tensor, " n"]) -> None:
        if not self.alone:
            self.narrow.update(sources[margins < NARROW].tolist())


def predict(run: Run, how: Decoding, jobs: Sequence[Job], watch: Watch) -> list[Prediction]:
    """The predictions of jobs that are decoded together."""
    return run.predict(
        [job.text for job in jobs],
        search=how.search,
        rules=how.rules,
        prefix=[job.prefix for job in jobs],
        replace_unknown=how.replace_unknown,
        watch=watch,
    )


def count_cost(run: Run, how: Decoding, text: str) -> int:
    """What reading a source costs, times its hypotheses."""
    return count_tokens(run, text) * how.search.width


def count_tokens(run: Run, source: str) -> int:
    """The tokens of a source; a picture counts as a long text."""
    return 64 if "picture_size" in run.task.source.sizes else int(run.task.source.prepare([source]).lengths[0])


def count_heads(run: Run) -> int:
    """The heads of all attentions of a model, which an attention knows itself or who has it."""
    modules = dict(run.model.named_modules())
    found = [(name.rpartition(".")[0], module) for name, module in modules.items() if hasattr(module, "normalise")]
    owners = [module if hasattr(module, "heads") else modules.get(parent) for parent, module in found]
    return sum(getattr(owner, "heads", 1) for owner in owners) or 1


def _fail(job: Job, error: Exception) -> None:
    if not isinstance(error, Seq2SeeError):
        log.error("an answer failed", exc_info=error)
    if not job.gone:
        job.answer.set_exception(error)


def _promise() -> "Future[Any]":
    """An answer that nobody can cancel: who does not want it any more leaves."""
    promise: Future[Any] = Future()
    promise.set_running_or_notify_cancel()
    return promise
