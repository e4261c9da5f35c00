"""The server: a socket, an application behind it, and an end that loses no answer."""

import asyncio
import json
import logging
import socket
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2see.core.errors import Seq2SeeError
from seq2see.serve.desk import Desk
from seq2see.serve.guard import App

PATIENCE = 30.0  # seconds for the head of a request to arrive, or for somebody to read what was sent


class Line(H11Protocol):
    """A connection: what is no HTTP gets a sentence, and who neither asks nor reads is let go."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # the head of a request is there
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()  # for the next head
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.cycle.response_complete:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state is not h11.SEND_RESPONSE and self.conn.our_state is not h11.IDLE:
            self.transport.abort()  # an answer has begun; nothing can be said any more
            return
        body = json.dumps({"error": "the request must be HTTP/1.1; got something else."}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        events: list[Any] = [
            h11.Response(status_code=400, reason=b"Bad Request", headers=list(headers.items())),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _wait(self) -> None:
        """Let it go if nothing happens for long; who reads, however slowly, may go on."""
        self._stop_waiting()
        unread = self.transport.get_write_buffer_size()
        self._waiting = self.loop.call_later(PATIENCE, self._look, unread)

    def _look(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:
            self._wait()
        else:
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Server(uvicorn.Server):
    """Told to stop, it refuses new work, finishes what it has, and ends; told twice, it ends at once."""

    def __init__(self, app: App, desk: Desk) -> None:
        patience = int(desk.bounds.seconds) + 1
        super().__init__(
            uvicorn.Config(
                app,
                http=Line,
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=patience,
            )
        )
        self.desk, self.stopping = desk, False
        logging.getLogger("python_multipart").setLevel(logging.ERROR)  # its warnings are answers of ours

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Somebody wants us to stop; the next tick does what must not be done in the middle of anything."""
        if self.stopping:
            self.should_exit = self.force_exit = True
        self.stopping = True

    async def on_tick(self, counter: int) -> bool:
        if self.stopping:
            self.desk.batcher.refuse()
            self.should_exit = self.should_exit or self.desk.batcher.idle
        return await super().on_tick(counter)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Seq2SeeError(
            f"cannot listen on {host}, port {port}: {reason}; choose another --host or --port."
        ) from None


def name_address(listening: socket.socket) -> str:
    """The address to open in a browser."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"
