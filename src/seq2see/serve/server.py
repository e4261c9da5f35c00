"""The server: uvicorn with our protocol of a connection, and a shutdown that waits for all responses."""

import logging
import socket
import ssl
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from seq2see.core.errors import Seq2SeeError
from seq2see.serve.client_protocol import ClientProtocol
from seq2see.serve.handler import RequestHandler
from seq2see.serve.middleware import App
from seq2see.serve.systemd import Watchdog, notify


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
        # all clients of a proxy have its address, so it has to limit their connections itself
        most = None if proxies else handler.bounds.client_requests
        protocol: Any = partial(ClientProtocol, most=most, counts=Counter())
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,
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
        listening = socket.create_server((host, port), family=family, backlog=512)
        # connections inherit this; asyncio sets it for sockets of its own only, and without it every response waits
        # for the client to confirm its head, which takes 40 ms
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
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
