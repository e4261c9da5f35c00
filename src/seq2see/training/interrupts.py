"""Signals in a training: the first Ctrl-C asks it to save and stop, the second one stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seq2see.system.processes import HANGUP, REQUESTS


@contextmanager
def catching_interrupts(tell: Callable[[], None]) -> Iterator[list[int]]:
    """Collect the first Ctrl-C (or SIGTERM, SIGHUP) in a list instead of raising it; a second raises KeyboardInterrupt.

    A second SIGHUP does not: the system and a shell both send one when a terminal is closed. None stops a training that
    was started to ignore it (nohup).

    Args:
        tell: called without arguments at the first one.

    Yields:
        The list, which is empty until then. Outside the main thread it always stays empty.
    """
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        if asked and number in HANGUP:
            return
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        tell()

    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread of a program gets signals
        return
    heard = [number for number in REQUESTS if number not in HANGUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heard}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
