"""Changing what a model attends to while it works, to see what comes of it; without a change, nothing differs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import AttentionError

COLDEST = 1e-6  # the lowest temperature; below, scores that are divided by it leave the range of floats

_active: ContextVar["dict[nn.Module, list[Change]] | None"] = ContextVar("seq2see_changes", default=None)


@dataclass(frozen=True)
class Change:
    """What is done to some heads of one Attend: another temperature, or weights that are not its own.

    Scores are divided by the temperature before they are normalised; those of a memory machine's head when it sharpens.
    Weights `none` are all zero, so that the head adds nothing (Michel et al. 2019, section 2.3); `uniform` are equal
    for all keys it may attend to.
    """

    name: str  # the path of the Attend inside the model, as traces name it
    heads: tuple[int, ...] | None = None  # counted from 1; None: all
    weights: Literal["own", "none", "uniform"] = "own"
    temperature: float = 1.0

    def chosen(self, scores: Float[Tensor, "b h t s"]) -> Bool[Tensor, "1 h 1 1"]:
        """The heads it is about."""
        count = scores.shape[1]
        if any(not 1 <= head <= count for head in self.heads or ()):
            raise AttentionError(f"the map {self.name} has the heads 1 to {count}; got {list(self.heads or ())}.")
        numbers = torch.arange(1, count + 1)
        chosen = torch.isin(numbers, torch.tensor(self.heads)) if self.heads is not None else numbers > 0
        return chosen[None, :, None, None]


def active_changes(module: nn.Module) -> Sequence[Change]:
    """The changes to one Attend that hold right now, if any."""
    active = _active.get()
    return () if active is None else active.get(module, ())


def temper(scores: Float[Tensor, "b h t s"], changes: Sequence[Change]) -> Float[Tensor, "b h t s"]:
    """The scores, divided by the temperatures."""
    for change in changes:
        if change.temperature != 1:
            scores = torch.where(change.chosen(scores), scores / change.temperature, scores)
    return scores


def overrule(
    weights: Float[Tensor, "b h t s"], mask: Bool[Tensor, "*#b #h #t s"], changes: Sequence[Change]
) -> Float[Tensor, "b h t s"]:
    """The weights, or what stands in their place; `mask` says what may be attended to."""
    for change in changes:
        if change.weights != "own":
            allowed = mask.expand(weights.shape).to(weights.dtype)
            equal = allowed / allowed.sum(dim=-1, keepdim=True).clamp(min=1)
            new = equal if change.weights == "uniform" else torch.zeros_like(weights)
            weights = torch.where(change.chosen(weights), new, weights)
    return weights


@contextmanager
def changing(model: nn.Module, changes: Sequence[Change]) -> Iterator[None]:
    """Change some Attends of `model` inside the block."""
    modules = dict(model.named_modules())
    found: dict[nn.Module, list[Change]] = {}
    for change in changes:
        if change.name not in modules or not hasattr(modules[change.name], "normalise"):
            known = ", ".join(name for name, module in modules.items() if hasattr(module, "normalise"))
            raise AttentionError(f"there is no attention named {change.name!r} (known: {known or 'none'}).")
        if not change.temperature >= COLDEST:
            raise AttentionError(f"a temperature must be at least {COLDEST}; got {change.temperature}.")
        found.setdefault(modules[change.name], []).append(change)
    token = _active.set(found or None)
    try:
        yield
    finally:
        _active.reset(token)
