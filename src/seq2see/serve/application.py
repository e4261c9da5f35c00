"""The application: a handler, its routes, the middleware around them, and one sentence for every error."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from seq2see import __version__
from seq2see.core.errors import Seq2SeeError
from seq2see.serve.api_docs import describe_api
from seq2see.serve.batch_queue import Batcher
from seq2see.serve.bounds import BATCH_TOKENS, Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.middleware import INTERNAL_ERROR, App, Middleware
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError
from seq2see.serve.routes import add_pages, add_prediction_routes, add_run_routes, add_status_routes


def make_app(
    registry: ModelRegistry,
    *,
    bounds: Bounds | None = None,
    batch_tokens: int = BATCH_TOKENS,
    tokens: Collection[str] = (),
    hosts: Collection[str] = (),
) -> tuple[App, RequestHandler]:
    """Return the application with its middleware, and the handler inside it.

    Args:
        registry: the runs to serve.
        bounds: how much a request may ask for; None takes the defaults.
        batch_tokens: source tokens times hypotheses that are decoded together; 0 decodes every text alone.
        tokens: the bearer tokens of clients; empty asks for no token. With several, each is a client of its own.
        hosts: the host names of this server; localhost and IP addresses are always accepted.
    """
    metrics, bounds = ServerMetrics(), bounds or Bounds()
    batcher = Batcher(queue=bounds.queue, budget=batch_tokens, metrics=metrics)
    metrics.add_gauge("seq2see_queue_length", "Texts in the queue.", lambda: len(batcher.waiting))
    metrics.add_gauge("seq2see_running", "Texts that are decoded now.", lambda: len(batcher.running))
    handler = RequestHandler(registry, batcher, metrics, bounds)
    inner = FastAPI(
        title="seq2see", version=__version__, docs_url=None, redoc_url=None, lifespan=_live, redirect_slashes=False
    )
    inner.state.handler = handler
    add_prediction_routes(inner, handler)
    add_run_routes(inner, handler)
    add_status_routes(inner, handler)
    add_pages(inner)
    document = describe_api(inner, token=bool(tokens))
    inner.openapi = lambda: document  # type: ignore[method-assign]
    _add_error_handlers(inner)
    paths = [route.path for route in inner.routes if hasattr(route, "path")]
    return Middleware(inner, bounds=bounds, metrics=metrics, paths=paths, tokens=tokens, hosts=hosts), handler


@asynccontextmanager
async def _live(app: FastAPI) -> AsyncIterator[None]:
    handler: RequestHandler = app.state.handler
    handler.batcher.start()
    yield
    handler.batcher.close()


def _add_error_handlers(app: FastAPI) -> None:
    """Give every error one sentence of JSON."""

    async def explain_known(request: Request, error: Exception) -> Response:
        status, headers = (error.status, error.headers) if isinstance(error, RequestError) else (409, {})
        return JSONResponse({"error": str(error)}, status_code=status, headers=headers)

    async def explain_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentences = {
            404: f"there is nothing at {request.url.path[:80]}; see /docs.",
            405: f"{request.url.path[:80]} does not take {request.method[:20]}; see /docs.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}")
        return JSONResponse({"error": sentence}, status_code=error.status_code, headers=error.headers)

    async def explain_internal(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": INTERNAL_ERROR}, status_code=500)  # the middleware logs it

    app.add_exception_handler(Seq2SeeError, explain_known)
    app.add_exception_handler(Exception, explain_internal)
    app.add_exception_handler(HTTPException, explain_http)
