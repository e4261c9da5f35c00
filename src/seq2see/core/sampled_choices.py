"""The positions that hard attention samples in a forward pass, with their log-probabilities, for REINFORCE."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seq2see.core.errors import Seq2SeeError

_active: ContextVar["SampledChoices | None"] = ContextVar("seq2see_choices", default=None)


@dataclass(frozen=True)
class SampledChoice:
    """Sampled positions, one for each query; gradients flow back into the probabilities that they were sampled from."""

    logprob: Float[Tensor, "b h t"]  # of the sampled position; 0 where there was nothing to sample
    entropy: Float[Tensor, "b h t"]  # of the distribution that it was sampled from


@runtime_checkable
class SamplingPart(Protocol):
    """A part that samples, and knows how it learns from the rewards of its samples."""

    def reinforce(
        self,
        logprob: Float[Tensor, "n h"],
        entropy: Float[Tensor, "n h"],
        reward: Float[Tensor, " n"],
        mask: Bool[Tensor, "b t"],
    ) -> Float[Tensor, ""]:
        """A loss, summed over n target tokens and h heads, whose gradient makes rewarded positions likelier.

        Args:
            logprob: of the sampled positions.
            entropy: of the distributions that they were sampled from.
            reward: of each target token.
            mask: which token of which target each of the n is, in its order.
        """
        ...


class SampledChoices:
    """All sampled positions of one forward pass over a batch."""

    def __init__(self) -> None:
        self._pieces: dict[SamplingPart, list[SampledChoice]] = {}
        self._drawn: dict[SamplingPart, Tensor] = {}

    def record(self, part: SamplingPart, choice: SampledChoice) -> None:
        """Keep the samples of one call; a decoder that steps calls once for each step."""
        self._pieces.setdefault(part, []).append(choice)

    def draw_once(self, part: SamplingPart, draw: Callable[[], Tensor]) -> Tensor:
        """The random numbers of a part for a whole pass, drawn once, however many calls the pass takes."""
        if part not in self._drawn:
            self._drawn[part] = draw()
        return self._drawn[part]

    def loss(self, reward: Float[Tensor, " n"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, ""]:
        """The summed loss of all samples, from the reward of every real target token, in the order of the mask."""
        total = reward.new_zeros(())
        for part, pieces in self._pieces.items():
            logprob = torch.cat([piece.logprob for piece in pieces], dim=2)
            entropy = torch.cat([piece.entropy for piece in pieces], dim=2)
            if logprob.transpose(1, 2).shape[:2] != mask.shape:
                raise Seq2SeeError(
                    "positions must be sampled once for each target token, so that its likelihood can reward them; got "
                    f"{tuple(logprob.shape)} for targets of {tuple(mask.shape)}; sample in the decoder only."
                )
            logprob, entropy = logprob.transpose(1, 2)[mask], entropy.transpose(1, 2)[mask]
            total = total + part.reinforce(logprob, entropy, reward, mask)
        return total


def active_choices() -> SampledChoices | None:
    """What collects sampled positions right now, if anything."""
    return _active.get()


@contextmanager
def choosing() -> Iterator[SampledChoices]:
    """Collect what every part samples inside the block."""
    choices = SampledChoices()
    token = _active.set(choices)
    try:
        yield choices
    finally:
        _active.reset(token)
