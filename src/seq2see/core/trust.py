"""Whether the files that are read are those of somebody the user trusts, for the code inside a `with`."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_trusting: ContextVar[bool] = ContextVar("trusting", default=False)


@contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """Read the files of a run as those of somebody the user trusts, or does not, for the code inside a `with`.

    Args:
        trust: whether links may lead out of the folder, and tokenizers have parts that ours do not.
    """
    token = _trusting.set(trust)
    try:
        yield
    finally:
        _trusting.reset(token)


def is_trusting() -> bool:
    """Return whether the files that are read now are trusted."""
    return _trusting.get()
