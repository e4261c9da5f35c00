"""Tracing: inside `with tracing(model)` every `Attend` of a model records its weights, also those of a plug-in."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import AttentionError

_active: ContextVar["Trace | None"] = ContextVar("seq2see_trace", default=None)


class Trace:
    """Holds the weights recorded so far, by the name of the Attend inside the model; gradients flow through them.

    Args:
        model: the model whose modules give the names.
    """

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name or type(module).__name__ for name, module in model.named_modules()}
        self._pieces: dict[str, list[Tensor]] = {}
        self._causal: set[str] = set()

    def record(
        self, module: nn.Module, weights: Float[Tensor, "b h t s"], *, causal: bool = False, number: int = 1
    ) -> None:
        """Record the weights of one call; a decoder that steps calls once for each step.

        Args:
            module: the module that attends.
            weights: the weights after normalising, [b h t s].
            causal: whether the keys are positions before the queries.
            number: which of its attentions this is, from 1, for a module that has several.
        """
        name = self._names.get(module, type(module).__name__) + (f" ({number})" if number > 1 else "")
        self._pieces.setdefault(name, []).append(weights)
        if causal:
            self._causal.add(name)

    def is_causal(self, name: str) -> bool:
        """Tell whether the keys of an Attend were the positions before each query.

        Args:
            name: one of `names`.
        """
        return name in self._causal

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the Attends that were used, in the order of their first use."""
        return tuple(self._pieces)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Return the names of the Attends with which a decoder attends to the source, not to its own past."""
        return tuple(name for name in self.names if not name.startswith("encoder.") and not self.is_causal(name))

    def weights(self, name: str) -> Float[Tensor, "b h t s"]:
        """Return all weights of one Attend, its calls joined over the target positions, [b h t s].

        A key that a call did not have yet has weight 0 in that call. Causal weights have as many keys as queries, even
        if no query attended to the last key.

        Args:
            name: one of `names`.
        """
        pieces = self._pieces[name]
        keys = max(piece.shape[3] for piece in pieces)
        if self.is_causal(name):
            keys = max(keys, sum(piece.shape[2] for piece in pieces))
        return torch.cat([F.pad(piece, (0, keys - piece.shape[3])) for piece in pieces], dim=2)


def active_trace() -> Trace | None:
    """Return the trace that is recording now, if there is one."""
    return _active.get()


@contextmanager
def tracing(model: nn.Module) -> Iterator[Trace]:
    """Record every attention of a model inside the block.

    Args:
        model: the model whose modules give the names.

    Yields:
        The trace, which is empty at first.

    Raises:
        AttentionError: at the end of the block, if nothing was recorded.
    """
    trace = Trace(model)
    token = _active.set(trace)
    try:
        yield trace
    finally:
        _active.reset(token)
    if not trace.names:
        raise AttentionError(
            "this model has no attention to show: it recorded no weights, because it reads only a summary of its "
            "source; choose a reader that attends."
        )
