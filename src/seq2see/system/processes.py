"""Settings of our own processes: memory, signals, and the end of a worker with its parent."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from types import ModuleType

HANGUP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()  # the terminal was closed
REQUESTS = (signal.SIGINT, signal.SIGTERM, *HANGUP)  # and what a supervisor sends
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of mallopt, in GNU's C library
MAX_KEPT_BYTES = 2**30  # of freed memory

# how many shapes of products oneDNN caches; its default of 1,024 took a gigabyte
ONEDNN_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "8", "LRU_CACHE_CAPACITY": "8"}

ours = False  # whether this process runs our command, and not a program that imports seq2see


def own_process() -> None:
    """Make the settings of a process that is our own; call it before torch is imported."""
    global ours
    ours = True
    for name, capacity in ONEDNN_CACHES.items():
        os.environ.setdefault(name, capacity)
    _keep_memory()


def _keep_memory() -> None:
    """Let GNU's C library keep freed memory for the next allocation.

    By default it gives large blocks back to the system, and gets the same pages again, filled with zeros, at every step
    of a search: a sixth of the time of a beam of 5.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, MAX_KEPT_BYTES)
        mallopt(MMAP_THRESHOLD, MAX_KEPT_BYTES)


def measure_memory() -> int:
    """Return the most bytes of memory that this process has had at once; 0 where the system does not tell."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextmanager
def starting_workers() -> Iterator[None]:
    """Let processes that are started inside the block ignore Ctrl-C, and not import the main module.

    A spawned process imports the main module of the program that starts it, so that a script without
    `if __name__ == "__main__":` would run a second time there. Nothing that workers are sent is defined in it.

    A terminal sends Ctrl-C to all processes of a program at once; the main one decides. It ignores Ctrl-C, too, while
    the block runs. Outside the main thread it is not ignored, because only the main thread may set handlers.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # one without a file to import
    try:
        yield
    finally:
        sys.modules["__main__"] = program
        if is_main:
            signal.signal(signal.SIGINT, before)


def serve_parent() -> None:
    """Make this process a worker: it ignores Ctrl-C, and ends with its parent process, even if that was killed."""
    own_process()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def is_running(pid: int) -> bool:
    """Return whether a process is running; where that cannot be found out, whether it may be.

    Args:
        pid: the id of the process.
    """
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # at once, without waiting for other threads
