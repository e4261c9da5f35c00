"""A server inside the test: clients speak to the application without a network, or to a port of its own."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from seq2see.serve.app import make_app
from seq2see.serve.batcher import Job
from seq2see.serve.desk import Desk
from seq2see.serve.schema import Bounds
from seq2see.serve.server import Server, name_address, open_socket
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


class listening:  # noqa: N801 (reads as what it does)
    """A server on a port of its own."""

    def __init__(self, shelf: Shelf, **options: Any) -> None:
        self.server = Server(*make_app(shelf, **options))
        self.socket = open_socket("127.0.0.1", 0)
        self.thread = threading.Thread(target=lambda: self.server.run(sockets=[self.socket]))

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)
        return name_address(self.socket)

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(30)
