"""Messages to systemd: that the server is ready, that it stops, and that it still works (see `man sd_notify`)."""

import os
import socket
import time
from contextlib import suppress


def notify(message: str) -> None:
    """Send a message to the service manager; nothing happens if there is none.

    Args:
        message: such as READY=1.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    place = "\0" + address[1:] if address.startswith("@") else address  # @: a name outside the file system
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.setblocking(False)
        line.sendto(message.encode(), place)


class Watchdog:
    """Tells systemd, twice in each interval that it asks for, that the server works; else systemd starts it again."""

    def __init__(self) -> None:
        asked = os.environ.get("WATCHDOG_USEC", "")
        meant = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.seconds = int(asked) / 2e6 if asked.isdecimal() and meant else 0.0
        self._next = 0.0

    def tick(self, *, alive: bool) -> None:
        """Send a sign of life when it is time.

        Args:
            alive: whether the server works.
        """
        if self.seconds and alive and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.seconds
            notify("WATCHDOG=1")
