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
    """Holds one sampled position for each query; gradients flow into the probabilities it was sampled from.

    Args:
        logprob: the log-probability of the sampled position, [b h t]; 0 where nothing was sampled.
        entropy: the entropy of the distribution that it was sampled from, in nats, [b h t].
    """

    logprob: Float[Tensor, "b h t"]
    entropy: Float[Tensor, "b h t"]


@runtime_checkable
class SamplingPart(Protocol):
    """Is a part that samples, and defines how it learns from the rewards of its samples."""

    def reinforce(
        self,
        logprob: Float[Tensor, "n h"],
        entropy: Float[Tensor, "n h"],
        reward: Float[Tensor, " n"],
        mask: Bool[Tensor, "b t"],
    ) -> Float[Tensor, ""]:
        """Return a loss, summed over n target tokens and h heads, whose gradient makes rewarded positions likelier.

        Args:
            logprob: the log-probabilities of the sampled positions, [n h].
            entropy: the entropies of the distributions that they were sampled from, [n h].
            reward: the reward of each target token, [n].
            mask: True at real target tokens, [b t]; n of them are True, and row by row they give the order of the n.
        """
        ...


class SampledChoices:
    """Holds all sampled positions of one forward pass over a batch."""

    def __init__(self) -> None:
        self._pieces: dict[SamplingPart, list[SampledChoice]] = {}
        self._drawn: dict[SamplingPart, Tensor] = {}

    def record(self, part: SamplingPart, choice: SampledChoice) -> None:
        """Keep the samples of one call; a decoder that steps calls once for each step.

        Args:
            part: the part that sampled.
            choice: its samples, in the order of the target positions over all calls.
        """
        self._pieces.setdefault(part, []).append(choice)

    def draw_once(self, part: SamplingPart, draw: Callable[[], Tensor]) -> Tensor:
        """Return the random numbers of a part for a whole pass, drawn once, however many calls the pass takes.

        Args:
            part: the part that needs them.
            draw: draws them; it is called at the part's first call of the pass only.
        """
        if part not in self._drawn:
            self._drawn[part] = draw()
        return self._drawn[part]

    def loss(self, reward: Float[Tensor, " n"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, ""]:
        """Return the summed loss of all samples.

        Args:
            reward: the reward of each real target token, in the order of the mask, [n].
            mask: True at real target tokens, [b t]; n of them are True.

        Raises:
            Seq2SeeError: if a part did not sample exactly once for each target position.
        """
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
    """Return the collection that sampled positions go to now; None outside of `choosing`."""
    return _active.get()


@contextmanager
def choosing() -> Iterator[SampledChoices]:
    """Collect what every part samples inside the block.

    Yields:
        The collection, which is empty at first.
    """
    choices = SampledChoices()
    token = _active.set(choices)
    try:
        yield choices
    finally:
        _active.reset(token)
