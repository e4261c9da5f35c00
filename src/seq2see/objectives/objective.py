"""An objective: what a training minimises."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.data.batch import Batch

ModelT = TypeVar("ModelT", bound=nn.Module, contravariant=True)


@dataclass(frozen=True)
class Loss:
    """The loss of a batch, as sums over its target tokens (of a classifier: over its sources)."""

    total: Float[Tensor, ""]  # what is minimised
    nll: Float[Tensor, ""]  # negative log-likelihood of the targets, without label smoothing and without further terms
    tokens: int


@runtime_checkable
class Objective(Protocol[ModelT]):
    """A loss whose options may follow a schedule over the updates of a training."""

    def __call__(self, model: ModelT, batch: Batch, step: int) -> Loss:
        """The loss of a batch.

        Args:
            model: the network; its mode (training or evaluation) stays as it is.
            batch: padded sources and targets, with references where `needs_references` says so.
            step: the number of the update, from 1. At step 0 nothing is scheduled yet: scheduled sampling replaces no
                input, minimum risk training has not begun, and batches keep their direction.
        """
        ...

    def needs_references(self, step: int) -> bool:
        """Whether the batches of an update must carry all targets of their sources."""
        ...
