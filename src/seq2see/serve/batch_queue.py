"""Dynamic batching: texts of many clients wait in one queue; one thread decodes those with equal options together."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.errors import Seq2SeeError
from seq2see.runs.decoding import Decoding
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.search.hypothesis import Hypothesis, SearchObserver
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.fair_queue import FairQueue
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError

# The other texts of a batch change the last bits of a number (by about 1e-6). A text with a decision by less than this
# margin (in log-probability or score) is decoded again alone, so that other texts never change its output.
NARROW_MARGIN = 1e-4
GATHER_SECONDS = 0.003  # how long a batch waits for more texts, if some came while the last batch was decoded

log = logging.getLogger("seq2see.serve")


class Batcher:
    """A queue of limited length, and the one thread that decodes its jobs in batches.

    Args:
        queue: the most jobs that may wait.
        budget: the largest cost of a batch, in source tokens times hypotheses; 0 decodes every job alone. A single job
            may cost more.
        metrics: counts batches and texts that are decoded again.
    """

    def __init__(self, *, queue: int, budget: int, metrics: ServerMetrics) -> None:
        self.budget, self.metrics = budget, metrics
        self.queue = FairQueue(queue)
        self.running: list[DecodeJob] = []
        self.seconds_a_job = 0.05  # moving average, from an estimate on
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="seq2see-model", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Tell whether the thread runs."""
        return self._thread.is_alive()

    @property
    def accepting(self) -> bool:
        """Tell whether new jobs are accepted."""
        return not self._closed and self.alive

    @property
    def waiting(self) -> list[DecodeJob]:
        """Return the jobs that wait, in the order in which they would be decoded now."""
        with self._changed:
            return self.queue.list_jobs()

    @property
    def idle(self) -> bool:
        """Tell whether no job waits and none is being decoded."""
        with self._changed:
            return not self.queue and not self.running

    def submit(self, jobs: Sequence[DecodeJob]) -> None:
        """Put jobs into the queue, all of them or none.

        Args:
            jobs: the jobs of one request.

        Raises:
            RequestError: with status 503 if the queue is closed, or 429 if it has no room for all the jobs. The newest
                jobs of a client with more of them make room, and fail with 429.
        """
        with self._changed:
            if self._closed:
                raise RequestError(
                    "the server is about to stop; try again later.", status=503, headers={"Retry-After": "5"}
                )
            dropped = self.queue.add(jobs, self.seconds_a_job)
            self._changed.notify_all()
        for job, error in dropped:
            job.fail(error)

    def cancel(self, jobs: Sequence[DecodeJob]) -> None:
        """Cancel jobs: those that wait are removed, and the search stops those that are being decoded.

        Args:
            jobs: the jobs; one that is done already is left as it is.
        """
        with self._changed:
            for job in jobs:
                job.cancelled = True
            self.queue.remove(jobs)

    def drain(self) -> None:
        """Accept no new jobs; the thread ends when all others are done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self, *, seconds: float = 5.0) -> None:
        """Accept no new jobs, cancel all others, and wait for the thread to end.

        Args:
            seconds: the longest time to wait.
        """
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
            except BaseException as error:  # whatever happens to these jobs, the next ones need the thread
                for job in jobs:
                    _fail(job, error)
            finally:
                seconds = time.perf_counter() - began
                with self._changed:
                    self.running = []
                    self.queue.charge(jobs, seconds)
            self.seconds_a_job = 0.8 * self.seconds_a_job + 0.2 * seconds / len(jobs)

    def _take(self) -> list[DecodeJob]:
        """Return the oldest job and all that may be decoded with it; none if the queue is closed and empty."""
        with self._changed:
            busy = bool(self.queue)  # texts came while others were decoded, so more are likely to come
            jobs: list[DecodeJob] = []
            while not jobs:  # all that waited may be cancelled while more are gathered
                self._changed.wait_for(lambda: self.queue or self._closed)
                if busy and self.budget:
                    self._changed.wait_for(lambda: self._closed or self._full(), timeout=GATHER_SECONDS)
                jobs = self.queue.choose(self.budget)
                if self._closed:
                    break
            self.queue.remove(jobs)
            self.running = jobs
            return jobs

    def _full(self) -> bool:
        return sum(job.cost for job in self.queue.choose(self.budget)) >= self.budget

    def _serve(self, jobs: Sequence[DecodeJob]) -> None:
        """Decode jobs together, and again alone those with a narrow decision, or all of them if the batch fails."""
        self.metrics.batch_size.observe(len(jobs))
        again: Sequence[DecodeJob] = jobs
        if len(jobs) > 1:
            try:
                again = self._decode(jobs)
            except Exception:  # one job may be faulty; each gets its own result or error
                log.debug("a batch failed", exc_info=True)
            self.metrics.redecoded.add(len(again))
        for job in again:
            if not job.cancelled and not job.result.done():
                self._serve_alone(job)

    def _decode(self, jobs: Sequence[DecodeJob]) -> list[DecodeJob]:
        """Decode jobs together, finish those without a narrow decision, and return the others."""
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
    """Stops the cancelled jobs of a batch, calls listeners after each step, and records which decisions were narrow.

    Args:
        jobs: the jobs of the batch; source number i is job number i.
        alone: whether the batch is one job, for which no decision is too narrow.
    """

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
    """Return the predictions of jobs that are decoded together.

    Args:
        run: the run of all the jobs.
        decoding: the decoding of all the jobs.
        jobs: the jobs, of which text and prefix are used.
        observer: is told of every step of the search.
    """
    texts, prefixes = [job.text for job in jobs], [job.prefix for job in jobs]
    return run.predict(texts, prefix=prefixes, decoding=decoding, observer=observer)


def _fail(job: DecodeJob, error: BaseException) -> None:
    if not isinstance(error, Seq2SeeError):
        job.context.run(log.error, "a job failed", exc_info=error)
    job.fail(error)
