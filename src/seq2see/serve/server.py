"""The server: uvicorn with timeouts for slow clients, and a shutdown that loses no response."""

import asyncio
import json
import logging
import socket
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2see.core.errors import Seq2SeeError
from seq2see.serve.handler import RequestHandler
from seq2see.serve.middleware import App

CLIENT_TIMEOUT_SECONDS = 30.0  # for the head of a request to arrive, or for a client to read what was sent


class ClientProtocol(H11Protocol):
    """The protocol of one connection: what is no HTTP gets a sentence, and an idle client is disconnected."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # the head of a request is there
            self._stop_timer()

    def on_response_complete(self) -> None:
        self._start_timer()  # for the next head
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.cycle.response_complete:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state is not h11.SEND_RESPONSE and self.conn.our_state is not h11.IDLE:
            self.transport.abort()  # a response has begun; no other can be sent
            return
        body = json.dumps({"error": "the request must be HTTP/1.1; got something else."}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        events: list[h11.Event] = [
            h11.Response(status_code=400, reason=b"Bad Request", headers=list(headers.items())),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start_timer(self) -> None:
        """Disconnect the client if nothing happens for long; one that reads, however slowly, may go on."""
        self._stop_timer()
        unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(CLIENT_TIMEOUT_SECONDS, self._check_progress, unread)

    def _check_progress(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:
            self._start_timer()
        else:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Server(uvicorn.Server):
    """A server that on the first signal finishes what it has and ends, and on the second ends at once."""

    def __init__(self, app: App, handler: RequestHandler) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=ClientProtocol,
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=int(handler.bounds.seconds) + 1,
            )
        )
        self.handler, self.stopping = handler, False
        logging.getLogger("python_multipart").setLevel(logging.ERROR)  # its warnings are responses of ours

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal; the next tick acts on it, because a signal may come in the middle of anything."""
        if self.stopping:
            self.should_exit = self.force_exit = True
        self.stopping = True

    async def on_tick(self, counter: int) -> bool:
        if self.stopping:
            self.handler.batcher.drain()
            self.should_exit = self.should_exit or self.handler.batcher.idle
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
