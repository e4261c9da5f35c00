"""One pass of a sequence-to-sequence model over a batch, and the terms of a loss that are computed from it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.sampled_choices import SampledChoices
from seq2see.core.trace import Trace
from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class ForwardPass:
    """Holds what a model computed for a batch; n counts the target tokens of the batch, padding left out.

    Args:
        model: the model that learns.
        batch: the batch.
        memory: what the encoder returned for the sources.
        inputs: what the decoder read, [b t]: the true tokens, or those of scheduled sampling.
        features: what the output layer sees at each target token, [n d].
        targets: the target tokens, the end mark included, [n].
        nll: the negative log-likelihood of each target token in nats, without gradients, [n].
        smoothing: the label smoothing of the cross-entropy; 0 for none.
        choices: the positions that hard attention sampled in the decoder; empty without hard attention.
        trace: the attention weights of the decoder; None if no term reads them.
    """

    model: Seq2Seq
    batch: Batch
    memory: Memory
    inputs: Int[Tensor, "b t"]
    features: Float[Tensor, "n d"]
    targets: Int[Tensor, " n"]
    nll: Float[Tensor, " n"]
    smoothing: float
    choices: SampledChoices
    trace: Trace | None


class LossTerm(ABC):
    """Is a further term of a loss."""

    reads_attention: ClassVar[bool] = False  # whether the attention weights must be recorded

    def needs_references(self, step: int) -> bool:
        """Return whether the batches of an update must carry all targets of their sources.

        Args:
            step: the number of the update, from 1.
        """
        return False

    @abstractmethod
    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """Return the loss with this term.

        Args:
            total: the loss so far, summed over the target tokens.
            forward: what the model computed for the batch.
            step: the number of the update, from 1; at step 0 no schedule has begun.
        """
