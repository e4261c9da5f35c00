"""Clients that vanish at any moment: their place in the queue is free at once, and the next client gets its answer."""

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import occupied

from seq2see.serve import batch_queue
from seq2see.serve.application import make_app
from seq2see.serve.batch_queue import Batcher
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.handler import RequestHandler
from seq2see.serve.middleware import App
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.prometheus_metrics import ServerMetrics

BODY = {"text": "abc", "max_length": 5}
RED_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def make_scope(path: str, version: str) -> dict[str, Any]:
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "asgi": {"spec_version": version}, "method": "POST", "path": path, "headers": headers}
    return scope | {
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "client": ("::1", 1),
    }


class Caller:
    """A client of the application, without a network.

    Args:
        app: the application.
        path: the path that is asked for.
        body: the body of the request.
        version: the version of ASGI that the server claims to speak, by which Starlette handles hang-ups.
    """

    def __init__(self, app: App, path: str, body: dict[str, Any], version: str = "2.3") -> None:
        self.gone, self.sent = asyncio.Event(), list[Any]()
        self.body = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
        self.coroutine = app(make_scope(path, version), self.receive, self.send)

    async def receive(self) -> Any:
        if self.body:
            return self.body.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await asyncio.sleep(0)  # as a server that waits for a slow client
        self.sent.append(message)


def test_jobs_that_are_cancelled_while_a_batch_gathers_do_not_end_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_queue, "GATHER_SECONDS", 0.5)
    batcher = Batcher(queue=9, budget=100, metrics=ServerMetrics())
    begun, going_on, gathering = threading.Event(), threading.Event(), threading.Event()
    full: Callable[[], bool] = batcher._full
    monkeypatch.setattr(batcher, "_full", lambda: gathering.set() or full())
    first, second, third = (
        DecodeJob(lambda _: begun.set() or going_on.wait(20)),
        *(DecodeJob(lambda _: "done") for _ in range(2)),
    )
    batcher.start()
    try:
        batcher.submit([first])
        assert begun.wait(20)
        batcher.submit([second])
        going_on.set()
        assert gathering.wait(20)
        batcher.cancel([second])
        first.result.result(20)
        batcher._thread.join(1)
        assert batcher.alive
        batcher.submit([third])
        assert third.result.result(20) == "done"
    finally:
        batcher.close()


def test_a_job_that_ends_its_thread_does_not_end_that_of_the_model() -> None:
    def leave(_: object) -> None:
        raise SystemExit

    batcher = Batcher(queue=9, budget=100, metrics=ServerMetrics())
    batcher.start()
    try:
        jobs = [DecodeJob(leave), DecodeJob(lambda _: "done")]
        batcher.submit(jobs)
        assert jobs[1].result.result(20) == "done"
        with pytest.raises(SystemExit):
            jobs[0].result.result(20)
    finally:
        batcher.close()


@pytest.mark.parametrize("version", ["2.3", "2.4"])
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/predict/stream", "/v1/explain"])
def test_who_has_hung_up_before_the_answer_began_makes_room(folders: list[Path], path: str, version: str) -> None:
    async def happen() -> None:
        app, handler = make_app(ModelRegistry(folders))
        handler.batcher.start()
        try:
            async with occupied(handler):
                caller = Caller(app, path, BODY, version)
                caller.gone.set()
                await asyncio.wait_for(caller.coroutine, 20)
                assert not handler.batcher.waiting
        finally:
            handler.batcher.close()

    asyncio.run(happen())


async def cancel_at(app: App, handler: RequestHandler, path: str, body: dict[str, Any], step: int) -> bool:
    """Cancel a request after so many steps of the event loop; whether it was still on its way."""
    task = asyncio.ensure_future(Caller(app, path, body).coroutine)
    for _ in range(step):
        if not task.done():
            await asyncio.sleep(0)
    while not task.done() and step > 60 and not (handler.batcher.waiting or task.done()):
        await asyncio.sleep(0.001)  # threads take their time
    going = task.cancel()
    await asyncio.wait([task], timeout=20)
    assert task.done()
    return going


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/predict/stream", "/v1/explain"])
def test_a_request_may_be_cancelled_at_every_await(
    folders: list[Path], captions: Path, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def happen() -> None:
        app, handler = make_app(ModelRegistry([folders[0], captions]))
        for name in ("rnn", "captions"):
            await handler.registry.find(name)
        handler.batcher.start()
        try:
            async with occupied(handler):
                for body in (BODY, {"model": "captions", "image": RED_PIXEL}):
                    for step in range(70):
                        await cancel_at(app, handler, path, body, step)
                        assert not handler.batcher.waiting, step
                        assert not handler.image_lock.locked()
                        assert not list(tmp_path.iterdir()), step
            caller = Caller(app, path, BODY)
            await asyncio.wait_for(caller.coroutine, 60)
            assert caller.sent[0]["status"] == 200
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
        finally:
            handler.batcher.close()

    asyncio.run(happen())
