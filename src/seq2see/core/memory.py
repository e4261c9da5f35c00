"""What an encoder leaves behind for whoever reads it."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """Encoded positions of a batch of sources; mask is True where a position may be attended to."""

    states: Float[Tensor, "b s d"]
    mask: Bool[Tensor, "b s"]
    values: Float[Tensor, "b s d"] | None = None  # what attention sums up, where that is not the states
    summary: Float[Tensor, "b d"] | None = None  # one vector for the whole source
    # final state of a recurrent encoder, a tuple (hidden,) or (hidden, cell) for each layer: what Sutskever hands over
    carry: tuple[tuple[Float[Tensor, "b _"], ...], ...] | None = None
    cells: Float[Tensor, "b s d"] | None = None  # the LSTM memory beside each state, of an encoder that keeps them all
    # where the heads of a machine stood at the end: its states are rows of its memory, and stand for no token
    focus: Float[Tensor, "b h s"] | None = None

    grid: tuple[int, int] | None = None  # rows and columns of a picture's cells; states are in reading order
    levels: tuple["Memory", ...] | None = None  # what lies below a hierarchy: the words under its sentences

    @property
    def contents(self) -> Float[Tensor, "b s d"]:
        """What attention sums up; the states are what it compares with."""
        return self.states if self.values is None else self.values


def mean(states: Float[Tensor, "b s d"], mask: Bool[Tensor, "b s"]) -> Float[Tensor, "b d"]:
    """The mean of the states at real positions; zeros for a source without any."""
    return (states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
