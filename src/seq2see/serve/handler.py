"""The handler of requests: it checks them, puts them into the batch queue, and waits for their results."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from math import isqrt
from typing import Any, TypeVar

from fastapi import Request
from pydantic_core import to_json

from seq2see.data.modalities.modality import Name
from seq2see.runs.prediction import Prediction
from seq2see.runs.prediction_json import PredictionJson, describe_prediction
from seq2see.runs.run import Run
from seq2see.search.hypothesis import reports_margins
from seq2see.serve.batch_queue import Batcher
from seq2see.serve.bounds import Bounds
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.decoding_cost import count_heads, count_tokens
from seq2see.serve.input_checks import check_kind, check_targets, list_prefixes, read_texts
from seq2see.serve.middleware import CLIENT
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.prepared_request import PreparedRequest
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError
from seq2see.serve.requests import ExplainRequest, PredictRequest
from seq2see.serve.responses import explain_source
from seq2see.serve.upload import decode_image, keep_image

T = TypeVar("T")


@dataclass(frozen=True)
class RequestHandler:
    """Answers requests to the runs of a registry.

    Args:
        registry: the runs that are served.
        batcher: the queue that decodes.
        metrics: counts output tokens and cancelled requests.
        bounds: how much a request may ask for.
        image_lock: held while an image is checked, so that the pixels of one image at a time are in memory.
    """

    registry: ModelRegistry
    batcher: Batcher
    metrics: ServerMetrics
    bounds: Bounds
    image_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def set_deadline(self) -> float:
        """Return until when a request that begins now must have its result, on the monotonic clock."""
        return time.monotonic() + self.bounds.seconds

    async def prepare(
        self, request: PredictRequest, image: bytes | None, stack: ExitStack, deadline: float
    ) -> PreparedRequest:
        """Check a request against its run and the bounds.

        Args:
            request: the body of the request.
            image: the bytes of an image that came in a form; None for a JSON body.
            stack: closes what the request needs, such as a temporary file of its image; the caller closes it.
            deadline: until when the result must be there, as `set_deadline` returns it.

        Raises:
            RequestError: the request asks for too much, contradicts itself, does not suit its run, or takes too long.
        """
        request.check(self.bounds)
        name, run = await self.registry.find(request.model, deadline - time.monotonic())
        kind = run.task.source.name
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                sources = await self._read_sources(request, name, kind, image, stack)
        except TimeoutError:
            raise self.make_timeout() from None
        check_targets(request, self.bounds)
        if not run.task.writes_text:
            request.check_labels()
        options = request.options
        decoding = run.choose_decoding(options)
        # a search that does not report its margins cannot tell narrow decisions, so its requests are decoded alone
        together = reports_margins(decoding.search) and run.task.writes_text
        key = (name, id(run), to_json(options)) if together else None
        prefixes = list_prefixes(request, len(sources))
        return PreparedRequest(name, run, decoding, key, sources, prefixes, kind != "image", deadline)

    async def _read_sources(
        self, request: PredictRequest, name: str, kind: Name, image: bytes | None, stack: ExitStack
    ) -> Sequence[str]:
        check_kind(request, image, name, kind)
        if kind != "image":
            return read_texts(request, self.bounds)
        async with self.image_lock:
            return [await _finish(asyncio.to_thread(self._keep_image, request, image, stack))]

    def _keep_image(self, request: PredictRequest, image: bytes | None, stack: ExitStack) -> str:
        """Check an image, write it into a temporary file and return its path; a large one takes a while."""
        data = image if image is not None else decode_image(request.image or "")
        return str(stack.enter_context(keep_image(data, self.bounds)))

    def _check_weights(self, run: Run, lengths: Sequence[int], what: str = "source") -> None:
        """Refuse attention with more weights than the bounds allow; every head has one for each pair of tokens."""
        heads = count_heads(run)
        if heads * sum(length**2 for length in lengths) > self.bounds.weights:
            most = isqrt(self.bounds.weights // heads)
            raise RequestError(
                f"attention is shown for up to {most:,} {what} tokens of this run; got {sum(lengths):,}; shorten it.",
                status=409,
            )

    def check_sources(self, prepared: PreparedRequest) -> None:
        """Refuse attention to sources with more weights than the bounds allow.

        Args:
            prepared: the request.

        Raises:
            RequestError: the sources are too long.
        """
        self._check_weights(prepared.run, [count_tokens(prepared.run, source) for source in prepared.sources])

    def _check_outputs(self, prepared: PreparedRequest, outputs: Sequence[Sequence[int]]) -> None:
        """Refuse the attention of outputs with too many weights, once their ids, and so their lengths, are known."""
        self._check_weights(prepared.run, [len(ids) for ids in outputs] * len(prepared.sources), "written")

    async def predict(self, http: Request, request: PredictRequest, image: bytes | None) -> dict[str, object]:
        """Return the body of a response with the predictions of all sources.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            request: the body of the request.
            image: the bytes of an image that came in a form; None for a JSON body.

        Raises:
            RequestError: the request is refused, or takes too long.
        """
        with ExitStack() as stack:
            prepared = await self.prepare(request, image, stack, self.set_deadline())
            if request.attention != "none":
                self.check_sources(prepared)
            jobs = prepared.jobs(lambda prediction: self.describe(prepared, request, prediction))
            outputs: list[PredictionJson] = await self.wait(http, jobs, prepared.deadline)
        self.metrics.output_tokens.add(sum(len(output["ids"]) for output in outputs))
        return {"model": prepared.name, "outputs": outputs}

    def describe(self, prepared: PreparedRequest, request: PredictRequest, prediction: Prediction) -> PredictionJson:
        """Return a prediction as JSON, with the attention that the request asks for.

        Args:
            prepared: the request after its checks.
            request: the body of the request.
            prediction: the prediction of one source.

        Raises:
            RequestError: the output is too long for its attention to be shown.
        """
        if request.attention != "none":
            self._check_outputs(prepared, [prediction.ids, *(other.ids for other in prediction.alternatives)])
        return describe_prediction(prediction, attention=request.attention, show_source=prepared.show_source)

    async def explain(
        self, http: Request, request: ExplainRequest, image: bytes | None, deadline: float | None = None
    ) -> dict[str, object]:
        """Return the body of a response with the output of one source and the attention behind it.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            request: the body of the request.
            image: the bytes of an image that came in a form; None for a JSON body.
            deadline: until when the result must be there, as `set_deadline` returns it; None sets one now.

        Raises:
            RequestError: the request is refused, or takes too long.
        """
        with ExitStack() as stack:
            prepared = await self.prepare(request, image, stack, deadline or self.set_deadline())
            if len(prepared.sources) != 1:
                raise RequestError(f"one source is explained at a time; got {len(prepared.sources)}.")
            self.check_sources(prepared)
            [source], [prefix] = prepared.sources, prepared.prefixes
            check = partial(self._check_outputs, prepared)
            job = DecodeJob(
                lambda _: explain_source(prepared.run, prepared.decoding, source, prefix, request, job, check)
            )
            [payload] = await self.wait(http, [job], prepared.deadline)
        shown = {} if prepared.show_source else {"source": "image"}  # not the name of a temporary file
        return {**payload, **shown, "model": prepared.name}

    def submit(self, http: Request, jobs: Sequence[DecodeJob]) -> None:
        """Put jobs into the queue, in the name of the client.

        Args:
            http: the HTTP request, whose scope has the name of the client.
            jobs: the jobs of the request.

        Raises:
            RequestError: the queue is full or closed.
        """
        for job in jobs:
            job.client = http.scope[CLIENT]
        self.batcher.submit(jobs)

    async def wait(self, http: Request, jobs: Sequence[DecodeJob], deadline: float) -> list[Any]:
        """Put jobs into the queue and return their results; if the client disconnects or the time is up, cancel them.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            jobs: the jobs of the request.
            deadline: until when the results must be there, as `set_deadline` returns it.

        Raises:
            RequestError: the queue is full or closed, the client disconnected, or the jobs took too long.
        """
        self.submit(http, jobs)
        results: asyncio.Future[list[Any]] = asyncio.gather(*(asyncio.wrap_future(job.result) for job in jobs))
        gone: asyncio.Future[None] = asyncio.create_task(wait_for_disconnect(http))
        try:
            both: set[asyncio.Future[Any]] = {results, gone}
            left = max(deadline - time.monotonic(), 0)
            await asyncio.wait(both, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if results.done():
                return results.result()
            self.metrics.cancelled.add()
            raise self.make_timeout() if not gone.done() else RequestError("the client disconnected.", status=499)
        finally:
            self.batcher.cancel(jobs)
            gone.cancel()
            results.add_done_callback(_retrieve)
            results.cancel()

    def make_timeout(self) -> RequestError:
        """Return the error of a request that takes too long."""
        return RequestError(
            f"the response took longer than {self.bounds.seconds:g} s; ask for less, or start the server with a longer "
            "--timeout.",
            status=504,
        )


async def _finish(work: Awaitable[T]) -> T:
    """Return a result; a caller that is cancelled waits for it all the same, because a thread cannot be stopped."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _retrieve(results: "asyncio.Future[list[Any]]") -> None:
    """Retrieve an exception that is no longer needed, or asyncio would log it."""
    with suppress(asyncio.CancelledError):
        results.exception()


async def wait_for_disconnect(http: Request) -> None:
    """Wait until the client has disconnected.

    Args:
        http: the HTTP request, whose body has been read.
    """
    while (await http.receive())["type"] != "http.disconnect":
        pass
