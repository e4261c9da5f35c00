"""Choices: what was sampled while a model ran, and with what probability, so that a loss can reward it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seq2see.core.errors import Seq2SeeError

_active: ContextVar["Choices | None"] = ContextVar("seq2see_choices", default=None)


@dataclass(frozen=True)
class Choice:
    """Positions that were sampled, one for each query; gradients flow to whoever gave the probabilities."""

    logprob: Float[Tensor, "b h t"]  # of what was chosen; 0 where there was nothing to choose
    entropy: Float[Tensor, "b h t"]  # of what it was chosen from


@runtime_checkable
class Chooser(Protocol):
    """A part that samples, and knows how it learns from what its choices led to."""

    def reinforce(
        self,
        logprob: Float[Tensor, "n h"],
        entropy: Float[Tensor, "n h"],
        reward: Float[Tensor, " n"],
        mask: Bool[Tensor, "b t"],
    ) -> Float[Tensor, ""]:
        """A loss, summed over n target tokens, whose gradient makes rewarded choices likelier.

        The mask says which token of which target each of the n is, in its order.
        """
        ...


class Choices:
    """All choices of one pass over a batch."""

    def __init__(self) -> None:
        self._pieces: dict[Chooser, list[Choice]] = {}
        self._drawn: dict[Chooser, Tensor] = {}

    def record(self, chooser: Chooser, choice: Choice) -> None:
        """Keep the choices of one call; a decoder that steps calls once for each step."""
        self._pieces.setdefault(chooser, []).append(choice)

    def draw_once(self, chooser: Chooser, draw: Callable[[], Tensor]) -> Tensor:
        """What a part draws for a whole pass, however many calls that takes."""
        if chooser not in self._drawn:
            self._drawn[chooser] = draw()
        return self._drawn[chooser]

    def loss(self, reward: Float[Tensor, " n"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, ""]:
        """The summed loss of all choices, from the reward of every real target token, in the order of the mask."""
        total = reward.new_zeros(())
        for chooser, pieces in self._pieces.items():
            logprob = torch.cat([piece.logprob for piece in pieces], dim=2)
            entropy = torch.cat([piece.entropy for piece in pieces], dim=2)
            if logprob.transpose(1, 2).shape[:2] != mask.shape:
                raise Seq2SeeError(
                    f"choices must be made once for each target token, so that its likelihood can reward them; got "
                    f"{tuple(logprob.shape)} for targets of {tuple(mask.shape)}; choose in the decoder only."
                )
            logprob, entropy = logprob.transpose(1, 2)[mask], entropy.transpose(1, 2)[mask]
            total = total + chooser.reinforce(logprob, entropy, reward, mask)
        return total


def active_choices() -> Choices | None:
    """What collects choices right now, if anything."""
    return _active.get()


@contextmanager
def choosing() -> Iterator[Choices]:
    """Collect what every chooser samples inside the block."""
    choices = Choices()
    token = _active.set(choices)
    try:
        yield choices
    finally:
        _active.reset(token)
