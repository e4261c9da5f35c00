"""The server: a socket, an application behind it, and an end that loses no answer."""

import socket
from types import FrameType

import uvicorn

from seq2see.core.errors import Seq2SeeError
from seq2see.serve.desk import Desk
from seq2see.serve.guard import App


class Server(uvicorn.Server):
    """Told to stop, it refuses new work, finishes what it has, and ends; told twice, it ends at once."""

    def __init__(self, app: App, desk: Desk) -> None:
        patience = int(desk.bounds.seconds) + 1
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=patience,
            )
        )
        self.desk, self.stopping = desk, False

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
