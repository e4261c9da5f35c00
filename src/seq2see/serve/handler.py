"""The handler of requests: it checks them, puts them into the batch queue, and waits for their results."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from math import isqrt
from typing import Any

from fastapi import Request
from pydantic_core import to_json

from seq2see.core.errors import Seq2SeeError
from seq2see.data.modalities.modality import Name
from seq2see.runs.prediction_json import PredictionJson, describe_prediction
from seq2see.runs.run import Prediction, Run
from seq2see.search.hypothesis import reports_margins
from seq2see.serve.batch_queue import Batcher, DecodeJob
from seq2see.serve.decoding_cost import count_heads, count_tokens
from seq2see.serve.input_checks import check_kind, check_targets, list_prefixes, read_texts
from seq2see.serve.middleware import INTERNAL_ERROR
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.prepared_request import PreparedRequest
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.requests import Bounds, ExplainRequest, PredictRequest, RequestError
from seq2see.serve.responses import explain_source
from seq2see.serve.stream import TokenStream, format_event
from seq2see.serve.upload import decode_image, keep_image

EventQueue = asyncio.Queue[tuple[str, Any]]  # (name of an event, its data)


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

    async def prepare(self, request: PredictRequest, image: bytes | None, stack: ExitStack) -> PreparedRequest:
        """Check a request against its run and the bounds.

        Args:
            request: the body of the request.
            image: the bytes of an image that came in a form; None for a JSON body.
            stack: closes what the request needs, such as a temporary file of its image; the caller closes it.

        Raises:
            RequestError: the request asks for too much, contradicts itself, or does not suit its run.
        """
        request.check(self.bounds)
        name, run = await asyncio.to_thread(self.registry.find, request.model)
        kind = run.task.source.name
        sources = await self._read_sources(request, name, kind, image, stack)
        check_targets(request, self.bounds)
        if not run.task.writes_text:
            request.check_labels()
        options = request.options
        decoding = run.choose_decoding(options)
        # a search that does not report its margins cannot tell narrow decisions, so its requests are decoded alone
        together = reports_margins(decoding.search) and run.task.writes_text
        key = (name, id(run), to_json(options)) if together else None
        prefixes = list_prefixes(request, len(sources))
        return PreparedRequest(name, run, decoding, key, sources, prefixes, show_source=kind != "image")

    async def _read_sources(
        self, request: PredictRequest, name: str, kind: Name, image: bytes | None, stack: ExitStack
    ) -> Sequence[str]:
        check_kind(request, image, name, kind)
        if kind != "image":
            return read_texts(request, self.bounds)
        async with self.image_lock:
            return [await asyncio.to_thread(self._keep_image, request, image, stack)]

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

    def _check_sources(self, prepared: PreparedRequest) -> None:
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
            prepared = await self.prepare(request, image, stack)
            if request.attention != "none":
                self._check_sources(prepared)
            jobs = prepared.jobs(lambda prediction: self._describe(prepared, request, prediction))
            outputs: list[PredictionJson] = await self.wait(http, jobs)
        self.metrics.output_tokens.add(sum(len(output["ids"]) for output in outputs))
        return {"model": prepared.name, "outputs": outputs}

    def _describe(self, prepared: PreparedRequest, request: PredictRequest, prediction: Prediction) -> PredictionJson:
        if request.attention != "none":
            self._check_outputs(prepared, [prediction.ids, *(other.ids for other in prediction.alternatives)])
        return describe_prediction(prediction, attention=request.attention, show_source=prepared.show_source)

    async def explain(self, http: Request, request: ExplainRequest, image: bytes | None) -> dict[str, object]:
        """Return the body of a response with the output of one source and the attention behind it.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            request: the body of the request.
            image: the bytes of an image that came in a form; None for a JSON body.

        Raises:
            RequestError: the request is refused, or takes too long.
        """
        with ExitStack() as stack:
            prepared = await self.prepare(request, image, stack)
            if len(prepared.sources) != 1:
                raise RequestError(f"one source is explained at a time; got {len(prepared.sources)}.")
            self._check_sources(prepared)
            [source], [prefix] = prepared.sources, prepared.prefixes
            check = partial(self._check_outputs, prepared)
            job = DecodeJob(
                lambda _: explain_source(prepared.run, prepared.decoding, source, prefix, request, job, check)
            )
            [payload] = await self.wait(http, [job])
        shown = {} if prepared.show_source else {"source": "image"}  # not the name of a temporary file
        return {**payload, **shown, "model": prepared.name}

    async def wait(self, http: Request, jobs: Sequence[DecodeJob]) -> list[Any]:
        """Put jobs into the queue and return their results; if the client disconnects or the time is up, cancel them.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            jobs: the jobs of the request.

        Raises:
            RequestError: the queue is full or closed, the client disconnected, or the jobs took too long.
        """
        self.batcher.submit(jobs)
        results: asyncio.Future[list[Any]] = asyncio.gather(*(asyncio.wrap_future(job.result) for job in jobs))
        gone: asyncio.Future[None] = asyncio.create_task(wait_for_disconnect(http))
        try:
            both: set[asyncio.Future[Any]] = {results, gone}
            await asyncio.wait(both, timeout=self.bounds.seconds, return_when=asyncio.FIRST_COMPLETED)
            if results.done():
                return results.result()
            self.metrics.cancelled.add()
            raise self._timeout() if not gone.done() else RequestError("the client disconnected.", status=499)
        finally:
            self.batcher.cancel(jobs)
            gone.cancel()
            results.add_done_callback(_retrieve)
            results.cancel()

    async def stream(self, http: Request, request: PredictRequest, image: bytes | None) -> AsyncIterator[str]:
        """Return the server-sent events of one output, as text; they end with `done` or `error`.

        Args:
            http: the HTTP request, which tells when its client disconnects.
            request: the body of the request, with one source.
            image: the bytes of an image that came in a form; None for a JSON body.

        Raises:
            RequestError: the request is refused; this is raised before the first event.
        """
        stack, loop = ExitStack(), asyncio.get_running_loop()
        events: EventQueue = asyncio.Queue()

        def send(name: str, data: object) -> None:
            with suppress(RuntimeError):  # the event loop has stopped
                loop.call_soon_threadsafe(events.put_nowait, (name, data))

        try:
            prepared = await self.prepare(request, image, stack)
            if len(prepared.sources) != 1:
                raise RequestError(f"a stream has one source; got {len(prepared.sources)}.")
            search = prepared.decoding.search
            if not reports_margins(search) and getattr(search, "n_best", 1) > 1:
                raise RequestError("a stream has one output if it is sampled; leave out n_best.", status=409)
            if request.attention != "none":
                self._check_sources(prepared)
            tokens = TokenStream(prepared.run, send, replaces=prepared.decoding.replace_unknown)

            def finish(prediction: Prediction) -> PredictionJson:
                tokens.finish(prediction)
                return self._describe(prepared, request, prediction)

            [job] = prepared.jobs(finish)
            job.listen = tokens
            job.result.add_done_callback(lambda result: send("end", result))
            self.batcher.submit([job])
        except BaseException:
            stack.close()
            raise
        return self._send_events(http, prepared, job, events, stack)

    async def _send_events(
        self, http: Request, prepared: PreparedRequest, job: DecodeJob, events: "EventQueue", stack: ExitStack
    ) -> AsyncIterator[str]:
        until = time.monotonic() + self.bounds.seconds
        gone = asyncio.create_task(wait_for_disconnect(http))
        try:
            yield format_event("start", {"model": prepared.name})
            name = ""
            while name not in ("done", "error"):
                name, data = await self._next(events, gone, until)
                if name == "end":
                    name, data = _conclude(prepared, data)
                if name == "gone":
                    return
                yield format_event(name, data)
        except (asyncio.CancelledError, GeneratorExit):  # the client has disconnected
            self.metrics.cancelled.add()
            raise
        finally:
            gone.cancel()
            self.batcher.cancel([job])
            stack.close()

    async def _next(self, events: "EventQueue", gone: "asyncio.Task[None]", until: float) -> tuple[str, Any]:
        get = asyncio.create_task(events.get())
        try:
            left = max(until - time.monotonic(), 0)
            await asyncio.wait({get, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if get.done():
                return get.result()
            self.metrics.cancelled.add()
            return ("gone", None) if gone.done() else ("error", {"error": str(self._timeout())})
        finally:
            get.cancel()

    def _timeout(self) -> RequestError:
        return RequestError(
            f"the response took longer than {self.bounds.seconds:g} s; ask for less, or start the server with a longer "
            "--timeout.",
            status=504,
        )


def _conclude(prepared: PreparedRequest, result: "Future[PredictionJson]") -> tuple[str, dict[str, object]]:
    """Return the last event of a stream."""
    error = result.exception()
    if error is None:
        return "done", {"model": prepared.name, "output": result.result()}
    known = isinstance(error, Seq2SeeError)
    return "error", {"error": str(error) if known else INTERNAL_ERROR}


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
