"""The routes of the API and of the pages: each reads a request, calls the handler, and returns the response."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect

from seq2see.render.html.page import name_page, render_page
from seq2see.runs.held_out_file import read_held_out
from seq2see.serve.api_docs import EVENTS, describe_body, describe_errors, render_docs
from seq2see.serve.bounds import Bounds
from seq2see.serve.event_stream import EventStream
from seq2see.serve.handler import RequestHandler
from seq2see.serve.request_error import RequestError
from seq2see.serve.requests import ExplainRequest, PageRequest, PredictRequest, read_body
from seq2see.serve.response_schemas import (
    ExplainResponse,
    HeldOutResponse,
    ModelsResponse,
    PredictResponse,
    StatusResponse,
)
from seq2see.serve.responses import describe_options
from seq2see.serve.studio_page import render_studio

Body = TypeVar("Body")
READY_MODEL = {
    "name": "model",
    "in": "query",
    "required": False,
    "description": "The name of a run; any run if it is left out.",
    "schema": {"type": "string"},
}
HELD_OUT_MODEL = {**READY_MODEL, "description": "The name of a run; the first run if it is left out."}
READY_SECONDS = 0.8  # how long readiness waits for a run; probes of Kubernetes wait for one second
BODY_ERRORS = (404, 408, 409, 422, 429, 503, 504)


def add_prediction_routes(app: FastAPI, handler: RequestHandler) -> None:
    """Add the routes that decode: predict, predict/stream, explain and page.

    Args:
        app: the application that gets the routes.
        handler: answers their requests.
    """
    bounds, errors = handler.bounds, describe_errors(*BODY_ERRORS)

    @app.post(
        "/v1/predict",
        response_model=PredictResponse,
        openapi_extra=describe_body(PredictRequest, bounds, texts=bounds.texts),
        responses=errors,
    )
    async def predict(request: Request) -> JSONResponse:
        """Predict the output for a text, several texts, an image or a document."""
        found = await handler.predict(request, *await read_in_time(request, PredictRequest, bounds))
        return JSONResponse(found)

    @app.post(
        "/v1/predict/stream",
        response_class=EventStream,
        status_code=200,
        openapi_extra=describe_body(PredictRequest, bounds, texts=1),
        responses={200: {"content": {EventStream.media_type: {"schema": EVENTS}}}, **errors},
    )
    async def stream(request: Request) -> EventStream:
        """Predict one output, sent as server-sent events: start, token (final), draft (of a beam), done, error."""
        return EventStream(handler, request, *await read_in_time(request, PredictRequest, bounds))

    @app.post(
        "/v1/explain",
        response_model=ExplainResponse,
        openapi_extra=describe_body(ExplainRequest, bounds, texts=1),
        responses=errors,
    )
    async def explain(request: Request) -> JSONResponse:
        """Show the attention of the model behind its output, or behind a given output."""
        found = await handler.explain(request, *await read_in_time(request, ExplainRequest, bounds))
        return JSONResponse(found)

    @app.post(
        "/v1/page",
        response_class=HTMLResponse,
        openapi_extra=describe_body(PageRequest, bounds, texts=1, form=False),
        responses=errors,
    )
    async def page(request: Request) -> Response:
        """Show explanations side by side, in one HTML file that needs no server."""
        body, image = await read_in_time(request, PageRequest, bounds)
        if image is not None:
            raise RequestError("the body must be application/json, with images as base64.", status=415)
        deadline = handler.set_deadline()
        traces = [await handler.explain(request, view, None, deadline) for view in body.views]
        headers = {"Content-Disposition": 'attachment; filename="seq2see.html"'}
        return HTMLResponse(render_page(_pack_views(traces)), headers=headers)


def _pack_views(traces: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the payload of a page with explanations side by side; the run of each is named if there are several."""
    several = len(traces) > 1
    views = [{"name": trace["model"] if several else None, "trace": trace} for trace in traces]
    runs = " and ".join(dict.fromkeys(str(trace["model"]) for trace in traces))
    return {"title": f"{name_page(traces[0])} · {runs}", "views": views}


def add_run_routes(app: FastAPI, handler: RequestHandler) -> None:
    """Add the routes that describe the runs: models and held-out.

    Args:
        app: the application that gets the routes.
        handler: knows the runs and the bounds of requests.
    """

    @app.get("/v1/models", response_model=ModelsResponse, responses=describe_errors())
    async def models() -> JSONResponse:
        """List the runs that are served, the decoding options, and the bounds of a request."""
        found = await handler.registry.describe()
        options = describe_options(handler.bounds)
        return JSONResponse(
            {
                "models": [each.model_dump(exclude_unset=True) for each in found],
                "options": [each.model_dump() for each in options],
                "bounds": vars(handler.bounds),
            }
        )

    @app.get(
        "/v1/held-out",
        response_model=HeldOutResponse,
        responses=describe_errors(404, 409, 503),
        openapi_extra={"parameters": [HELD_OUT_MODEL]},
    )
    async def held_out(request: Request) -> JSONResponse:
        """List inputs that a run was not trained on, with its outputs and references, as its folder keeps them."""
        name, run = await handler.registry.find(request.query_params.get("model"))
        found = await asyncio.to_thread(read_held_out, run.folder)
        return JSONResponse({"model": name, **asdict(found)})


def add_status_routes(app: FastAPI, handler: RequestHandler) -> None:
    """Add the routes for monitoring: health, ready and metrics.

    Args:
        app: the application that gets the routes.
        handler: knows the runs, the queue and the metrics.
    """

    @app.get("/health", response_model=StatusResponse, responses=describe_errors())
    async def health() -> JSONResponse:
        """Tell whether the server works."""
        if not handler.batcher.alive:
            raise RequestError("the thread of the model has ended; start the server again.", status=500)
        return JSONResponse({"status": "alive"})

    @app.get(
        "/ready",
        response_model=StatusResponse,
        responses=describe_errors(404, 503),
        openapi_extra={"parameters": [READY_MODEL]},
    )
    async def ready(request: Request) -> JSONResponse:
        """Tell whether the server accepts requests now, to the run that is named, or to any run."""
        if not handler.batcher.accepting:
            raise RequestError("the server is about to stop; try again later.", status=503)
        name = request.query_params.get("model")
        registry = handler.registry
        try:
            await (registry.find_any(READY_SECONDS) if name is None else registry.find(name, READY_SECONDS))
        except RequestError as error:  # whose sentence names runs and files, for which a token may be needed
            reason = "there is no such run" if error.status == 404 else "the run is not ready"
            raise RequestError(f"{reason}; see /v1/models.", status=error.status, headers=error.headers) from None
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", response_class=PlainTextResponse, responses=describe_errors())
    async def metrics() -> PlainTextResponse:
        """Return the metrics of the server, for Prometheus."""
        return PlainTextResponse(handler.metrics.render(), media_type="text/plain; version=0.0.4")


def add_pages(app: FastAPI) -> None:
    """Add the page of the server and the page of its API.

    Args:
        app: the application that gets the pages, and whose API the second page describes.
    """

    @app.get("/", include_in_schema=False)
    async def studio() -> HTMLResponse:
        """Return the page of the server."""
        return HTMLResponse(render_studio({}))

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        """Return the documentation of the API, for people."""
        return HTMLResponse(render_docs(app.openapi(), str(request.base_url)))


async def read_in_time(request: Request, shape: type[Body], bounds: Bounds) -> tuple[Body, bytes | None]:
    """Read the body of a request and its image within a time limit.

    Args:
        request: the HTTP request.
        shape: the class of the body, such as `PredictRequest`.
        bounds: the longest time that the body may take to arrive, and how much it may hold.

    Returns:
        The body, and the bytes of the image of a form; None for a JSON body.

    Raises:
        RequestError: the body takes too long, the client disconnects, or the body is not as `read_request` expects.
    """
    try:
        async with asyncio.timeout(bounds.seconds):
            return await read_request(request, shape, bounds)
    except TimeoutError:
        sentence = f"the body must arrive within {bounds.seconds:g} s; got a part of it; send it faster."
        raise RequestError(sentence, status=408, headers={"Connection": "close"}) from None
    except ClientDisconnect:
        raise RequestError("the client disconnected.", status=499) from None


async def read_request(request: Request, shape: type[Body], bounds: Bounds) -> tuple[Body, bytes | None]:
    """Read the body of a request: JSON, or a form with a file `image` and, if wanted, JSON in a field `request`.

    Args:
        request: the HTTP request.
        shape: the class of the body, such as `PredictRequest`.
        bounds: how much it may hold.

    Returns:
        The body, and the bytes of the image of a form; None for a JSON body.

    Raises:
        RequestError: the body has another content type, cannot be parsed, or is not of this shape.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return read_body(shape, await request.body(), bounds), None
    if kind != "multipart/form-data":
        raise RequestError("the body must be application/json or multipart/form-data.", status=415)
    try:
        async with request.form(max_files=1, max_fields=1, max_part_size=1_000_000) as form:
            image, body = form.get("image"), form.get("request", "{}")
            if not isinstance(image, UploadFile) or not isinstance(body, str):
                raise RequestError("a form must have a file `image`, and may have a field `request` with JSON.")
            if not form.keys() <= {"image", "request"}:
                raise RequestError(f"a form has `image` and `request` only; got {', '.join(sorted(form))[:80]}.")
            return read_body(shape, body.encode(), bounds), await image.read()
    except (MultiPartException, HTTPException) as error:
        detail = error.message if isinstance(error, MultiPartException) else error.detail
        raise RequestError(f"the form cannot be read: {detail.rstrip('.')}.", status=400) from None
    except UnicodeError:  # of a codec that the form names; some raise errors of their own
        raise RequestError("the form cannot be read: its charset must be UTF-8.", status=400) from None
