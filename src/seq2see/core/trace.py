"""Tracing: every `Attend` of a model shows its weights to whoever looks, also those of a plug-in."""

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
    """The weights seen so far, by the name of the Attend inside the model; gradients flow through them."""

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name or type(module).__name__ for name, module in model.named_modules()}
        self._pieces: dict[str, list[Tensor]] = {}
        self._causal: set[str] = set()

    def record(
        self, module: nn.Module, weights: Float[Tensor, "b h t s"], *, causal: bool = False, number: int = 1
    ) -> None:
        """Keep the weights of one call; a decoder that steps calls once for each step.

        A module that is used for several attentions says which of them this is.
        """
        name = self._names.get(module, type(module).__name__) + (f" ({number})" if number > 1 else "")
        self._pieces.setdefault(name, []).append(weights)
        if causal:
            self._causal.add(name)

    def is_causal(self, name: str) -> bool:
        """Whether an Attend looked back at the positions before each query."""
        return name in self._causal

    @property
    def names(self) -> tuple[str, ...]:
        """The Attends that were used, in the order of their first use."""
        return tuple(self._pieces)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Of the Attends that were used, those with which a decoder looks at the source, and not back."""
        return tuple(name for name in self.names if not name.startswith("encoder.") and not self.is_causal(name))

    def weights(self, name: str) -> Float[Tensor, "b h t s"]:
        """All weights of one Attend, joined over time; keys that came later weigh nothing before.

        One that looks back has a key for each query, also where the last of them was seen by nobody.
        """
        pieces = self._pieces[name]
        keys = max(piece.shape[3] for piece in pieces)
        if self.is_causal(name):
            keys = max(keys, sum(piece.shape[2] for piece in pieces))
        return torch.cat([F.pad(piece, (0, keys - piece.shape[3])) for piece in pieces], dim=2)


def active_trace() -> Trace | None:
    """The trace that is looking right now, if any."""
    return _active.get()


@contextmanager
def tracing(model: nn.Module) -> Iterator[Trace]:
    """Look at every attention of `model` inside the block; a model that shows none is an error, not an empty map."""
    trace = Trace(model)
    token = _active.set(trace)
    try:
        yield trace
    finally:
        _active.reset(token)
    if not trace.names:
        raise AttentionError(
            "this model has no attention to show: while it was looked at, it attended to nothing "
            "(it reads only a summary of its source)."
        )
