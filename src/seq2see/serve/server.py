"""The server: uvicorn with timeouts for slow clients, and a shutdown that waits for all responses."""

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2see.core.errors import Seq2SeeError
from seq2see.serve.handler import RequestHandler
from seq2see.serve.middleware import App
from seq2see.serve.systemd import Watchdog, notify

CLIENT_TIMEOUT_SECONDS = 30.0  # for the head of a request to arrive, or for a client to read a part of its response


class ClientProtocol(H11Protocol):
    """The protocol of one connection: it disconnects idle clients, and answers what is not HTTP with a sentence."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the head of the first request.

        Args:
            transport: the connection.
        """
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer.

        Args:
            exc: the error that ended the connection; None if one side closed it.
        """
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read what has arrived, and stop the timer when the head of a request is complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # a new request has begun
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the timer for the head of the next request."""
        self._start_timer()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the timer, because the client does not read as fast as the response is sent."""
        super().pause_writing()
        self._start_timer()

    def resume_writing(self) -> None:
        """Stop the timer, unless it waits for the next request."""
        super().resume_writing()
        if not self.cycle.response_complete:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with one sentence of JSON, and close the connection.

        Args:
            msg: the message of uvicorn, which is not sent.
        """
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
        """Disconnect the client if it stays idle for the timeout; one that reads, however slowly, stays connected."""
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
    """A server that on the first signal finishes the requests it has and ends, and on the second ends at once.

    Args:
        app: the application.
        handler: the handler inside it, whose queue is emptied before the server ends.
        certificate: the files of a TLS certificate and of its key; None for no TLS.
        proxies: the addresses of reverse proxies, whose X-Forwarded-For and X-Forwarded-Proto are believed.
    """

    def __init__(
        self,
        app: App,
        handler: RequestHandler,
        *,
        certificate: tuple[Path, Path] | None = None,
        proxies: Sequence[str] = (),
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=ClientProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                ssl_certfile=certificate[0] if certificate else None,
                ssl_keyfile=certificate[1] if certificate else None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=int(handler.bounds.seconds) + 1,
            )
        )
        self.handler, self.stopping, self.watchdog = handler, False, Watchdog()
        logging.getLogger("python_multipart").setLevel(logging.ERROR)  # clients get its warnings as responses

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and tell systemd.

        Args:
            sockets: the sockets that listen.
        """
        await super().startup(sockets)
        notify("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell systemd, and end.

        Args:
            sockets: the sockets that listen.
        """
        notify("STOPPING=1")
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Record a signal; the next tick acts on it, because a signal may interrupt any code.

        Args:
            sig: the number of the signal.
            frame: the code that it interrupted.
        """
        if self.stopping:
            self.should_exit = self.force_exit = True
        self.stopping = True

    async def on_tick(self, counter: int) -> bool:
        """Close the queue after a signal, and end the server once the queue is empty; called ten times a second.

        Args:
            counter: the number of ticks so far.

        Returns:
            Whether the server ends.
        """
        self.watchdog.tick(alive=self.handler.batcher.alive)
        if self.stopping:
            self.handler.batcher.drain()
            self.should_exit = self.should_exit or self.handler.batcher.idle
        return await super().on_tick(counter)


def open_socket(host: str, port: int) -> socket.socket:
    """Open a socket that listens.

    Args:
        host: the address or name to listen on; with a colon in it, it is an address of IPv6.
        port: the port; 0 takes a free one.

    Raises:
        Seq2SeeError: the address is not of this computer, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Seq2SeeError(
            f"cannot listen on {host}, port {port}: {reason}; choose another --host or --port."
        ) from None


def check_certificate(certificate: Path, key: Path) -> None:
    """Refuse files that are no certificate with its key, before anything listens.

    Args:
        certificate: the file of the certificate, PEM, with those of its authorities if there are any.
        key: the file of its key, PEM, without a password.

    Raises:
        Seq2SeeError: a file cannot be read, or they do not belong together.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # of which ssl.SSLError is one
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise Seq2SeeError(
            f"--certificate and --key must be a certificate and its key without a password, both PEM; got {certificate}"
            f" and {key} ({reason}); choose others."
        ) from None


def name_address(listening: socket.socket, *, encrypted: bool = False) -> str:
    """Return the address to open in a browser.

    Args:
        listening: the socket of the server; if it listens on all addresses, the address is that of this computer.
        encrypted: whether it speaks TLS.
    """
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    scheme = "https" if encrypted else "http"
    return f"{scheme}://[{shown}]:{port}/" if ":" in shown else f"{scheme}://{shown}:{port}/"
