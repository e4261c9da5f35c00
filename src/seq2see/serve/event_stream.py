"""The response of server-sent events: one coroutine sends them, and whatever ends it frees its place in the queue."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from seq2see.core.errors import Seq2SeeError
from seq2see.runs.prediction import Prediction
from seq2see.runs.prediction_json import PredictionJson
from seq2see.search.hypothesis import reports_margins
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.handler import RequestHandler, wait_for_disconnect
from seq2see.serve.middleware import INTERNAL_ERROR, Receive, Scope, Send
from seq2see.serve.prepared_request import PreparedRequest
from seq2see.serve.request_error import RequestError
from seq2see.serve.requests import PredictRequest
from seq2see.serve.stream import TokenStream, format_event

Emit = Callable[[str, object], Awaitable[None]]  # sends an event: its name and its data
EventQueue = asyncio.Queue[tuple[str, Any]]  # (name of an event, its data)


class EventStream(Response):
    """The server-sent events of one output; they end with `done` or `error`.

    Starlette's `StreamingResponse` iterates over a generator, which it may drop before the first step: what the
    generator would have cleaned up at its end then stays. Here everything happens in the call of the response.

    Args:
        handler: prepares the request and has the queue.
        http: the HTTP request, which tells when its client disconnects.
        request: the body of the request, with one source.
        image: the bytes of an image that came in a form; None for a JSON body.
    """

    media_type = "text/event-stream"

    def __init__(self, handler: RequestHandler, http: Request, request: PredictRequest, image: bytes | None) -> None:
        self.handler, self.http, self.request, self.image = handler, http, request, image
        self.status_code, self.background = 200, None
        self.init_headers({"X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def emit(name: str, data: object) -> None:
            content = format_event(name, data).encode()
            await send({"type": "http.response.body", "body": content, "more_body": True})

        with ExitStack() as stack:
            handler = self.handler
            prepared = await handler.prepare(self.request, self.image, stack, handler.set_deadline())
            self._check(prepared)
            events: EventQueue = asyncio.Queue()
            job = self._make_job(prepared, events)
            try:
                handler.submit(self.http, [job])
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await emit("start", {"model": prepared.name})
                await self._send_events(prepared, events, emit)
            except asyncio.CancelledError:
                handler.metrics.cancelled.add()
                raise
            finally:
                handler.batcher.cancel([job])
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _check(self, prepared: PreparedRequest) -> None:
        if len(prepared.sources) != 1:
            raise RequestError(f"a stream has one source; got {len(prepared.sources)}.")
        search = prepared.decoding.search
        if not reports_margins(search) and getattr(search, "n_best", 1) > 1:
            raise RequestError("a stream has one output if it is sampled; leave out n_best.", status=409)
        if self.request.attention != "none":
            self.handler.check_sources(prepared)

    def _make_job(self, prepared: PreparedRequest, events: "EventQueue") -> DecodeJob:
        """Return the job, which puts its events into the queue from the thread of the model."""
        loop = asyncio.get_running_loop()

        def put(name: str, data: object) -> None:
            with suppress(RuntimeError):  # the event loop has stopped
                loop.call_soon_threadsafe(events.put_nowait, (name, data))

        tokens = TokenStream(prepared.run, put, replaces=prepared.decoding.replace_unknown)

        def finish(prediction: Prediction) -> PredictionJson:
            tokens.finish(prediction)
            return self.handler.describe(prepared, self.request, prediction)

        [job] = prepared.jobs(finish)
        job.listen = tokens
        job.result.add_done_callback(lambda result: put("end", result))
        return job

    async def _send_events(self, prepared: PreparedRequest, events: "EventQueue", emit: Emit) -> None:
        gone = asyncio.create_task(wait_for_disconnect(self.http))
        try:
            name = ""
            while name not in ("done", "error"):
                name, data = await self._next(events, gone, prepared.deadline)
                if name == "end":
                    name, data = self._conclude(prepared, data)
                if name == "gone":
                    return
                await emit(name, data)
        finally:
            gone.cancel()

    async def _next(self, events: "EventQueue", gone: "asyncio.Task[None]", deadline: float) -> tuple[str, Any]:
        get = asyncio.create_task(events.get())
        try:
            left = max(deadline - time.monotonic(), 0)
            await asyncio.wait({get, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if get.done():
                return get.result()
            self.handler.metrics.cancelled.add()
            return ("gone", None) if gone.done() else ("error", {"error": str(self.handler.make_timeout())})
        finally:
            get.cancel()

    def _conclude(self, prepared: PreparedRequest, result: "Future[PredictionJson]") -> tuple[str, dict[str, object]]:
        """Return the last event."""
        error = result.exception()
        if error is None:
            output = result.result()
            self.handler.metrics.output_tokens.add(len(output["ids"]))
            return "done", {"model": prepared.name, "output": output}
        known = isinstance(error, Seq2SeeError)
        return "error", {"error": str(error) if known else INTERNAL_ERROR}
