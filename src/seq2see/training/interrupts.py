"""Ctrl-C in a training: the first one asks it to save and stop, the second one stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def catching_interrupts(tell: Callable[[], None]) -> Iterator[list[int]]:
    """Collect the first Ctrl-C (or SIGTERM) in a list instead of raising it; a second one raises KeyboardInterrupt.

    Args:
        tell: called without arguments at the first one.

    Yields:
        The list, which is empty until then. Outside the main thread it always stays empty.
    """
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        tell()

    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread of a program gets signals
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
