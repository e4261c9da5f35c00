"""An objective: what a training minimises."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.data.batch import Batch

ModelT = TypeVar("ModelT", bound=nn.Module, contravariant=True)


@dataclass(frozen=True)
class Loss:
    """Holds the loss of a batch, as sums over its target tokens (of a classifier: over its sources).

    Args:
        total: what is minimised, with gradients.
        nll: the negative log-likelihood of the targets in nats, without label smoothing, class weights and further
            terms, and without gradients.
        tokens: how many target tokens, end marks included, or sources the sums are over.
    """

    total: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    tokens: int


@runtime_checkable
class Objective(Protocol[ModelT]):
    """Is a loss whose options may follow a schedule over the updates of a training."""

    def __call__(self, model: ModelT, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch.

        Args:
            model: the network; its mode (training or evaluation) stays as it is.
            batch: padded sources and targets, with references where `needs_references` says so.
            step: the number of the update, from 1. At step 0 no schedule has begun: scheduled sampling replaces no
                input, minimum risk training has not started, and batches keep their direction.
        """
        ...

    def needs_references(self, step: int) -> bool:
        """Return whether the batches of an update must carry all targets of their sources.

        Args:
            step: the number of the update, from 1.
        """
        ...
