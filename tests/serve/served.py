"""A server inside the test: clients speak to the application without a network, or to a port of its own."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from seq2see.serve.application import make_app
from seq2see.serve.bounds import Bounds
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.server import Server, name_address, open_socket

Client = httpx2.AsyncClient


@asynccontextmanager
async def serving(paths: list[Path], **options: Any) -> AsyncIterator[tuple[Client, RequestHandler]]:
    """A client and the handler it speaks to."""
    options = {"bounds": Bounds(seconds=300.0), **options}  # a busy machine may take its time
    app, handler = make_app(ModelRegistry(paths, **options.pop("registry", {})), **options)
    handler.batcher.start()
    transport = httpx2.ASGITransport(app=app)
    try:
        async with Client(transport=transport, base_url="http://localhost") as client:
            yield client, handler
    finally:
        handler.batcher.close()


def ask(paths: list[Path], talk: Callable[[Client, RequestHandler], Awaitable[Any]], **options: Any) -> Any:
    """Let a conversation with a server happen."""

    async def happen() -> Any:
        async with serving(paths, **options) as (client, handler):
            return await talk(client, handler)

    return asyncio.run(happen())


@asynccontextmanager
async def occupied(handler: RequestHandler) -> AsyncIterator[None]:
    """The model is busy with something else inside the block."""
    begun, done = threading.Event(), threading.Event()
    job = DecodeJob(lambda _: begun.set() or done.wait(20))
    handler.batcher.submit([job])
    await asyncio.to_thread(begun.wait, 20)
    try:
        yield
    finally:
        done.set()


class listening:  # noqa: N801 (reads as what it does)
    """A server on a port of its own."""

    def __init__(self, registry: ModelRegistry, server: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.server = Server(*make_app(registry, **options), **(server or {}))
        self.socket = open_socket("127.0.0.1", 0)
        self.thread = threading.Thread(target=lambda: self.server.run(sockets=[self.socket]))

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)
        return name_address(self.socket, encrypted=self.server.config.is_ssl)

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(30)


def speak(address: str, *sent: bytes) -> bytes:
    """What comes back until the other side hangs up."""
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        for each in sent:
            line.sendall(each)
        heard = b""
        try:
            while chunk := line.recv(65536):
                heard += chunk
        except ConnectionResetError:
            pass
        return heard
