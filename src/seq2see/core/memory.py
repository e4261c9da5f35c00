"""The memory: what an encoder returns, and what decoders and pools read."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """Holds the encoded positions of a batch of sources.

    Args:
        states: one vector for each position, [b s d]; attention compares queries with them.
        mask: True where a position may be attended to, [b s].
        values: what attention sums, [b s d]; None if that is the states.
        summary: one vector for the whole source, [b d]; None if the encoder has none.
        final_states: for each layer of a recurrent encoder its final state, (hidden,) or (hidden, memory), each with
            one row for each source; None for other encoders.
        cells: the LSTM memory of each position, [b s d], from an encoder that keeps them all; else None.
        head_weights: the final weights of a Neural Turing Machine's heads, [b h s]; the states are then rows of its
            memory, and belong to no token. None for other encoders.
        grid: rows and columns of an image's cells; the states are in reading order. None if the source is no image.
        levels: the memories below, in a hierarchy: that of the words below that of the sentences; else None.
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
    """Return the mean of the states at real positions; zeros for a source without any.

    Args:
        states: [b s d].
        mask: True at real positions, [b s].
    """
    return (states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
