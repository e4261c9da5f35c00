"""Processes that work for another one: they hear no Ctrl-C of their own, and end when it does."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process

ENDING = (signal.SIGINT, signal.SIGTERM)  # what a terminal or a supervisor sends to all processes of a program at once


@contextmanager
def starting_deaf() -> Iterator[None]:
    """Processes started inside ignore requests to end, so that who started them decides when they do."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may change what is heard
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """Make this process end as soon as the one that started it has ended, even if that was killed."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # at once, in the middle of whatever the other threads do
