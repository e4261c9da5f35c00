"""A call that may take long, on a thread of its own: all who ask for it while it runs share its result."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Calls a function again and again, at most once at a time, so that one that hangs takes one thread.

    Args:
        function: the function; it is called on a daemon thread, which does not keep the process alive.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._result: Future[T] | None = None
        self._began = 0.0

    async def wait(self, seconds: float) -> T:
        """Return the result of the call that runs now, or of a new one.

        Args:
            seconds: the longest time that the call may have taken; one that has taken longer is not waited for.

        Raises:
            TimeoutError: the call has taken longer; it goes on.
        """
        result, began = self._begin()
        left = began + seconds - time.monotonic()
        if not result.done():
            if left <= 0:
                raise TimeoutError
            waited = asyncio.wrap_future(result)
            waited.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio would log it
            await asyncio.wait([waited], timeout=left)
        if not result.done():
            raise TimeoutError
        return result.result()

    def _begin(self) -> tuple["Future[T]", float]:
        """Return the future of the call that runs, and when it began; a new call is begun if none runs."""
        with self._lock:
            if self._result is None or self._result.done():
                result: Future[T] = Future()
                result.set_running_or_notify_cancel()  # who stops waiting must not cancel it for the others
                thread = threading.Thread(target=self._call, args=[result], name="seq2see-load", daemon=True)
                thread.start()
                self._result, self._began = result, time.monotonic()
            return self._result, self._began

    def _call(self, result: "Future[T]") -> None:
        try:
            value = self._function()
        except BaseException as error:  # whoever waits gets it
            result.set_exception(error)
        else:
            result.set_result(value)
