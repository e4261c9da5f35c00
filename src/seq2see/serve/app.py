"""The application: which path leads to which answer, and a sentence for all that leads nowhere."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect

from seq2see import __version__
from seq2see.core.errors import Seq2SeeError
from seq2see.inspect.page import render_page
from seq2see.serve.batcher import Batcher
from seq2see.serve.desk import Desk
from seq2see.serve.guard import OUR_MISTAKE, App, Guard
from seq2see.serve.manual import EVENTS, describe_api, describe_body, refuse, render_manual
from seq2see.serve.meter import Meter
from seq2see.serve.page import render_studio
from seq2see.serve.reply import Answer, Explained, Models, Status
from seq2see.serve.schema import Bounds, Explanation, Page, Question, RefusalError, Shape, read_body
from seq2see.serve.shelf import Shelf

BUDGET = 4096  # source tokens, times hypotheses, that are decoded together

T = TypeVar("T", bound=Shape)


class EventResponse(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


def make_app(
    shelf: Shelf,
    *,
    bounds: Bounds | None = None,
    budget: int = BUDGET,
    token: str | None = None,
    hosts: Collection[str] = (),
) -> tuple[App, Desk]:
    """The application behind its guard, and the desk in it; a budget of 0 decodes every text alone."""
    meter, bounds = Meter(), bounds or Bounds()
    batcher = Batcher(queue=bounds.queue, budget=budget, meter=meter)
    meter.watch("seq2see_queue_length", "Texts that wait.", lambda: len(batcher.waiting))
    meter.watch("seq2see_running", "Texts that are decoded now.", lambda: len(batcher.running))
    desk = Desk(shelf, batcher, meter, bounds)
    inner = FastAPI(
        title="seq2see", version=__version__, docs_url=None, redoc_url=None, lifespan=_live, redirect_slashes=False
    )
    inner.state.desk = desk
    _add_routes(inner, desk)
    _add_pages(inner)
    document = describe_api(inner, token=token is not None)
    inner.openapi = lambda: document  # type: ignore[method-assign]
    _add_sentences(inner)
    paths = [route.path for route in inner.routes if hasattr(route, "path")]
    return Guard(inner, bounds=bounds, meter=meter, paths=paths, token=token, hosts=hosts), desk


@asynccontextmanager
async def _live(app: FastAPI) -> AsyncIterator[None]:
    desk: Desk = app.state.desk
    desk.batcher.start()
    yield
    desk.batcher.close()


def _add_routes(app: FastAPI, desk: Desk) -> None:
    bounds = desk.bounds
    asking = refuse(400, 404, 408, 409, 415, 422, 429, 503, 504)

    async def read(request: Request, shape: type[T]) -> tuple[T, bytes | None]:
        try:
            async with asyncio.timeout(bounds.seconds):
                return await read_question(request, shape)
        except TimeoutError:
            sentence = f"the body must arrive within {bounds.seconds:g} s; got a part of it."
            raise RefusalError(sentence, status=408, headers={"Connection": "close"}) from None
        except ClientDisconnect:
            raise RefusalError("the client hung up.", status=499) from None

    @app.post(
        "/v1/predict",
        response_model=Answer,
        openapi_extra=describe_body(Question, bounds, texts=bounds.texts),
        responses=asking,
    )
    async def predict(request: Request) -> JSONResponse:
        """Outputs for a text, several texts, a picture or a document."""
        return JSONResponse(await desk.predict(request, *await read(request, Question)))

    @app.post(
        "/v1/predict/stream",
        response_class=EventResponse,
        openapi_extra=describe_body(Question, bounds, texts=1),
        responses={200: {"content": {EventResponse.media_type: {"schema": EVENTS}}}, **asking},
    )
    async def stream(request: Request) -> StreamingResponse:
        """One output as server-sent events: start, token (certain), draft (of a beam), done, error."""
        events = await desk.stream(request, *await read(request, Question))
        return EventResponse(events, headers={"X-Accel-Buffering": "no"})

    @app.post(
        "/v1/explain",
        response_model=Explained,
        openapi_extra=describe_body(Explanation, bounds, texts=1),
        responses=asking,
    )
    async def explain(request: Request) -> JSONResponse:
        """What the model looks at while it writes its output, or one that is given."""
        return JSONResponse(await desk.explain(request, *await read(request, Explanation)))

    @app.post(
        "/v1/page",
        response_class=HTMLResponse,
        openapi_extra=describe_body(Page, bounds, texts=1, form=False),
        responses=asking,
    )
    async def page(request: Request) -> Response:
        """Explanations side by side, as one HTML file that needs no server."""
        asked, picture = await read(request, Page)
        if picture is not None:
            raise RefusalError("the body must be application/json, with pictures as base64.", status=415)
        traces = [await desk.explain(request, view, None) for view in asked.views]
        names = [trace["model"] for trace in traces]
        views = [{"name": name if len(names) > 1 else None, "trace": t} for name, t in zip(names, traces, strict=True)]
        headers = {"Content-Disposition": 'attachment; filename="seq2see.html"'}
        return HTMLResponse(
            render_page({"title": f"seq2see: {traces[0]['source'][:80]}", "views": views}), headers=headers
        )

    @app.get("/v1/models", response_model=Models, responses=refuse())
    async def models() -> JSONResponse:
        """The runs that are served, and the bounds of what may be asked."""
        return JSONResponse({"models": await asyncio.to_thread(desk.shelf.describe), "bounds": vars(bounds)})

    @app.get("/health", response_model=Status, responses=refuse())
    async def health() -> JSONResponse:
        """Whether the server lives."""
        if not desk.batcher.alive:
            raise RefusalError("the thread of the model has ended; start the server again.", status=500)
        return JSONResponse({"status": "alive"})

    @app.get("/ready", response_model=Status, responses=refuse(503))
    async def ready() -> JSONResponse:
        """Whether it takes questions now."""
        await asyncio.to_thread(desk.shelf.find, None)
        if not desk.batcher.taking:
            raise RefusalError("the server is about to stop.", status=503)
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", response_class=PlainTextResponse, responses=refuse())
    async def metrics() -> PlainTextResponse:
        """What was counted, for Prometheus."""
        return PlainTextResponse(desk.meter.render(), media_type="text/plain; version=0.0.4")


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def studio() -> HTMLResponse:
        """The page that asks."""
        return HTMLResponse(render_studio({}))

    @app.get("/docs", include_in_schema=False)
    async def manual(request: Request) -> HTMLResponse:
        """The API, for people."""
        return HTMLResponse(render_manual(app.openapi(), str(request.base_url)))


def _add_sentences(app: FastAPI) -> None:
    async def known(request: Request, error: Exception) -> Response:
        status, headers = (error.status, error.headers) if isinstance(error, RefusalError) else (409, {})
        return JSONResponse({"error": str(error)}, status_code=status, headers=headers)

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentences = {
            404: f"there is nothing at {request.url.path[:80]}; see /docs.",
            405: f"{request.url.path[:80]} cannot be asked with {request.method}; see /docs.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}")
        return JSONResponse({"error": sentence}, status_code=error.status_code, headers=error.headers)

    async def ours(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": OUR_MISTAKE}, status_code=500)  # the guard logs it

    app.add_exception_handler(Seq2SeeError, known)
    app.add_exception_handler(Exception, ours)
    app.add_exception_handler(HTTPException, other)


async def read_question(request: Request, shape: type[T]) -> tuple[T, bytes | None]:
    """The question of a body, and the picture that came with it: JSON, or a form with `image` and `question`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return read_body(shape, await request.body()), None
    if kind != "multipart/form-data":
        raise RefusalError("the body must be application/json or multipart/form-data.", status=415)
    try:
        async with request.form(max_files=1, max_fields=1, max_part_size=1_000_000) as form:
            image, question = form.get("image"), form.get("question", "{}")
            if not isinstance(image, UploadFile) or not isinstance(question, str):
                raise RefusalError("a form must have a file `image`, and may have a field `question` with JSON.")
            return read_body(shape, question.encode()), await image.read()
    except (MultiPartException, HTTPException) as error:
        detail = error.message if isinstance(error, MultiPartException) else error.detail
        raise RefusalError(f"the form cannot be read: {detail.rstrip('.')}.", status=400) from None
