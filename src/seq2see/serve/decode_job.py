"""A job of the batch queue: one text to decode, or one function to call on the thread of the model."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any

from seq2see.runs.decoding import Decoding
from seq2see.runs.run import Run
from seq2see.search.hypothesis import Hypothesis
from seq2see.tasks.constraints import Prefix


@dataclass(eq=False)
class DecodeJob:
    """One text to decode, or one function to call on the thread of the model.

    Args:
        act: computes the result from the prediction, on the thread of the model; without a run, it gets None.
        run: the run that decodes the text; None if there is no text to decode.
        decoding: how the run decodes it.
        key: jobs with equal keys may be decoded together; a job with None is decoded alone.
        text: the source: a text, a document, or the path of an image.
        prefix: what the output begins with, as text or ids; empty for nothing.
        cost: source tokens times hypotheses, which must fit into the budget of a batch.
        listen: is called after every step of the search with the hypotheses that may still become the output, best
            first; None for no calls.
        result: what `act` returns, or the error, once there is one.
        cancelled: whether the result is no longer needed.
        client: who asks; clients take turns.
        context: the context of the request, with its id for the log.
    """

    act: Callable[[Any], object]
    run: Run | None = None
    decoding: Decoding | None = None
    key: Hashable = None
    text: str = ""
    prefix: Prefix = ""
    cost: int = 0
    listen: Callable[[Sequence[Hypothesis]], None] | None = None
    result: "Future[Any]" = field(default_factory=lambda: _make_future())
    cancelled: bool = False
    client: str = ""
    context: Context = field(default_factory=copy_context)

    def fail(self, error: BaseException) -> None:
        """Set the error that the job has instead of a result, unless it has one of both or nobody waits for it.

        Args:
            error: the error.
        """
        if not self.cancelled and not self.result.done():
            self.result.set_exception(error)


def _make_future() -> "Future[Any]":
    """Return a future that cannot be cancelled itself; `Batcher.cancel` cancels its job."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
