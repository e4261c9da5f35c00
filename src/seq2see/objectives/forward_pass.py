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
    """What a model computed for a batch; n counts the target tokens of the batch, padding left out."""

    model: Seq2Seq
    batch: Batch
    memory: Memory
    inputs: Int[Tensor, "b t"]  # of the decoder: the true ones, or those of scheduled sampling
    features: Float[Tensor, "n d"]  # of the decoder, before its output layer
    targets: Int[Tensor, " n"]
    nll: Float[Tensor, " n"]  # negative log-likelihood of each target, without gradients
    smoothing: float  # of the cross-entropy
    choices: SampledChoices  # the positions that hard attention sampled
    trace: Trace | None  # the attention weights, if a term reads them


class LossTerm(ABC):
    """A further term of a loss."""

    reads_attention: ClassVar[bool] = False  # whether the attention weights must be recorded

    def needs_references(self, step: int) -> bool:
        """Whether the batches of an update must carry all targets of their sources."""
        return False

    @abstractmethod
    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """The loss with this term.

        Args:
            total: the loss so far, summed over the target tokens.
            forward: what the model computed.
            step: the number of the update.
        """
