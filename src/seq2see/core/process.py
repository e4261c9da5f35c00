"""What a process of ours is told when it begins; one that works for another ends when that one does."""

import ctypes
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process

INTERRUPT = (signal.SIGINT,)  # Ctrl-C, which a terminal sends to all processes of a program at once
REQUESTS = (signal.SIGINT, signal.SIGTERM)  # and what a supervisor sends
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of mallopt, in GNU's C library
KEPT = 2**30  # bytes

# caches of oneDNN, each for so many shapes of products; for a thousand of them, as by default, it took a gigabyte
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "8", "LRU_CACHE_CAPACITY": "8"}

ours = False  # whether this process is ours, and not that of a program that imports us


def own_process() -> None:
    """From now on settings that hold for the whole process may be made; to be called before torch is imported."""
    global ours
    ours = True
    for name, capacity in CACHES.items():
        os.environ.setdefault(name, capacity)
    _keep_memory()


def _keep_memory() -> None:
    """Keep memory that was freed for what comes next, as far as the C library can be told so.

    By default it gives large blocks back to the system, and the same pages are asked for, and filled with zeros, at
    every step of a search: a sixth of the time of a beam of 5.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT)
        mallopt(MMAP_THRESHOLD, KEPT)


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
    own_process()
    for number in deaf_to:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # at once, whatever the other threads are doing
