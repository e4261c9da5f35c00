"""A server inside the test: clients speak to the application without a network."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from seq2see.serve.app import make_app
from seq2see.serve.batcher import Job
from seq2see.serve.desk import Desk
from seq2see.serve.schema import Bounds
from seq2see.serve.shelf import Shelf

Client = httpx2.AsyncClient


@asynccontextmanager
async def serving(paths: list[Path], **options: Any) -> AsyncIterator[tuple[Client, Desk]]:
    """A client and the desk it speaks to."""
    options = {"bounds": Bounds(seconds=300.0), **options}  # a busy machine may take its time
    app, desk = make_app(Shelf(paths, **options.pop("shelf", {})), **options)
    desk.batcher.start()
    transport = httpx2.ASGITransport(app=app)
    try:
        async with Client(transport=transport, base_url="http://localhost") as client:
            yield client, desk
    finally:
        desk.batcher.close()


def ask(paths: list[Path], talk: Callable[[Client, Desk], Awaitable[Any]], **options: Any) -> Any:
    """Let a conversation with a server happen."""

    async def happen() -> Any:
        async with serving(paths, **options) as (client, desk):
            return await talk(client, desk)

    return asyncio.run(happen())


@asynccontextmanager
async def occupied(desk: Desk) -> AsyncIterator[None]:
    """The model is busy with something else inside the block."""
    begun, done = threading.Event(), threading.Event()
    job = Job(lambda _: begun.set() or done.wait(20))
    desk.batcher.submit([job])
    await asyncio.to_thread(begun.wait, 20)
    try:
        yield
    finally:
        done.set()
