"""Interventions: changing a model's attention weights while it runs, to see how its output changes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import AttentionError

COLDEST = 1e-6  # the lowest temperature; below, scores that are divided by it leave the range of floats

Weights = Literal["own", "none", "uniform"]

_active: ContextVar["dict[nn.Module, list[Intervention]] | None"] = ContextVar("seq2see_changes", default=None)


@dataclass(frozen=True)
class Intervention:
    """Changes some heads of one Attend: another temperature, or other weights.

    Args:
        name: the path of the Attend inside the model, as traces name it.
        heads: counted from 1; None for all.
        weights: `own` leaves them; `none` makes them zero, so that the head adds nothing (Michel et al. 2019,
            arXiv:1905.10650, section 2.3); `uniform` makes them equal for all keys the head may attend to.
        temperature: divides the scores before they are normalised; those of a Neural Turing Machine's head when it
            sharpens.

    Raises:
        AttentionError: if weights, heads or temperature are none of these.
    """

    name: str
    heads: tuple[int, ...] | None = None
    weights: Weights = "own"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise AttentionError(f"weights must be one of {', '.join(get_args(Weights))}; got {self.weights!r}.")
        if self.heads is not None and not _are_numbers(self.heads):
            raise AttentionError(f"heads must be a tuple of numbers from 1, such as (2,), or None; got {self.heads!r}.")
        if not isinstance(self.temperature, float | int) or not COLDEST <= self.temperature < math.inf:
            raise AttentionError(f"a temperature must be a number from {COLDEST}; got {self.temperature!r}.")

    def chosen(self, scores: Float[Tensor, "b h t s"]) -> Bool[Tensor, "1 h 1 1"]:
        """Return which heads it changes.

        Args:
            scores: [b h t s] of the Attend, or its weights; only the number of heads counts.

        Returns:
            True for each head that changes, [1 h 1 1].

        Raises:
            AttentionError: if the Attend has no head of that number.
        """
        count = scores.shape[1]
        if any(not 1 <= head <= count for head in self.heads or ()):
            raise AttentionError(f"the map {self.name} has the heads 1 to {count}; got {list(self.heads or ())}.")
        chosen = [self.heads is None or head in self.heads for head in range(1, count + 1)]
        return torch.tensor(chosen, device=scores.device)[None, :, None, None]


def _are_numbers(heads: object) -> bool:
    return isinstance(heads, tuple) and all(type(head) is int and head >= 1 for head in heads)


def active_changes(module: nn.Module) -> Sequence[Intervention]:
    """Return the interventions in one Attend that are active now.

    Args:
        module: the Attend, or the head of a Neural Turing Machine, that asks.
    """
    active = _active.get()
    return () if active is None else active.get(module, ())


def list_interventions(model: nn.Module) -> tuple[Intervention, ...]:
    """Return the interventions in a model that are active now, so that `changing` can apply them again later.

    Args:
        model: the model; the interventions name its modules, whatever model `changing` was called with.
    """
    return tuple(
        replace(change, name=name) for name, module in model.named_modules() for change in active_changes(module)
    )


def temper(scores: Float[Tensor, "b h t s"], changes: Sequence[Intervention]) -> Float[Tensor, "b h t s"]:
    """Return the scores, those of the chosen heads divided by the temperatures.

    Args:
        scores: before normalising, [b h t s].
        changes: the interventions in this Attend; a temperature of 1 changes nothing.
    """
    for change in changes:
        if change.temperature != 1:
            scores = torch.where(change.chosen(scores), scores / change.temperature, scores)
    return scores


def overrule(
    weights: Float[Tensor, "b h t s"], mask: Bool[Tensor, "*#b #h #t s"], changes: Sequence[Intervention]
) -> Float[Tensor, "b h t s"]:
    """Return the weights, those of the chosen heads replaced.

    Args:
        weights: after normalising, [b h t s].
        mask: True where a query may attend to a key; `uniform` spreads its weights over these keys.
        changes: the interventions in this Attend; the weights `own` change nothing.
    """
    for change in changes:
        if change.weights != "own":
            allowed = mask.expand(weights.shape).to(weights.dtype)
            equal = allowed / allowed.sum(dim=-1, keepdim=True).clamp(min=1)
            new = equal if change.weights == "uniform" else torch.zeros_like(weights)
            weights = torch.where(change.chosen(weights), new, weights)
    return weights


@contextmanager
def changing(model: nn.Module, changes: Sequence[Intervention]) -> Iterator[None]:
    """Apply interventions in some Attends of a model inside the block; they replace those of an outer block in it.

    What was predicted inside the block keeps its interventions: its attention can be read after the block.

    Args:
        model: the model whose modules the interventions name.
        changes: the interventions; several of one Attend apply one after the other.

    Raises:
        AttentionError: if a name is not that of an Attend of the model.
    """
    modules = dict(model.named_modules())
    own = set(modules.values())
    found = {module: list(changes) for module, changes in (_active.get() or {}).items() if module not in own}
    for change in changes:
        if change.name not in modules or not hasattr(modules[change.name], "normalise"):
            known = ", ".join(name for name, module in modules.items() if hasattr(module, "normalise"))
            raise AttentionError(f"there is no attention named {change.name!r} (known: {known or 'none'}).")
        found.setdefault(modules[change.name], []).append(change)
    token = _active.set(found or None)
    try:
        yield
    finally:
        _active.reset(token)
