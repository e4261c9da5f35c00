"""Processes that work for another one: requests to end go to that one alone, and they end when it does."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process

INTERRUPT = (signal.SIGINT,)  # Ctrl-C, which a terminal sends to all processes of a program at once
REQUESTS = (signal.SIGINT, signal.SIGTERM)  # and what a supervisor sends


@contextmanager
def starting_deaf(to: Sequence[signal.Signals] = INTERRUPT) -> Iterator[None]:
    """Processes started inside ignore these signals from their first moment on."""
    if threading.current_thread() is not threading.main_thread():  # no other may change what is heard
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in to}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def serve_parent(deaf_to: Sequence[signal.Signals] = INTERRUPT) -> None:
    """Ignore these signals, and end as soon as the process that started this one has ended, even if it was killed."""
    for number in deaf_to:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # at once, whatever the other threads are doing
