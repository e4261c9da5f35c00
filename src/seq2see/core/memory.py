"""The memory: what an encoder returns, and what decoders and pools read."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """Holds the encoded positions of a batch of sources.

    Args:
        states: one vector for each position; attention compares queries with them.
        mask: True where a position may be attended to.
        values: what attention sums, if that is not the states.
        summary: one vector for the whole source.
        final_states: the final state of a recurrent encoder, (hidden,) or (hidden, memory) for each layer.
        cells: the LSTM memory of each position, from an encoder that keeps them all.
        head_weights: the final weights of a Neural Turing Machine's heads; the states are then rows of its memory, and
            belong to no token.
        grid: rows and columns of an image's cells; the states are in reading order.
        levels: the memories below, in a hierarchy: that of the words below that of the sentences.
    """

    states: Float[Tensor, "b s d"]
    mask: Bool[Tensor, "b s"]
    values: Float[Tensor, "b s d"] | None = None
    summary: Float[Tensor, "b d"] | None = None
    final_states: tuple[tuple[Float[Tensor, "b _"], ...], ...] | None = None
    cells: Float[Tensor, "b s d"] | None = None
    head_weights: Float[Tensor, "b h s"] | None = None
    grid: tuple[int, int] | None = None
    levels: tuple["Memory", ...] | None = None

    @property
    def contents(self) -> Float[Tensor, "b s d"]:
        """Return what attention sums: the values, or the states if there are no values."""
        return self.states if self.values is None else self.values


def mean(states: Float[Tensor, "b s d"], mask: Bool[Tensor, "b s"]) -> Float[Tensor, "b d"]:
    """Return the mean of the states at real positions; zeros for a source without any."""
    return (states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
