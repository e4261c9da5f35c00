"""Likelihood: the cross-entropy of the target tokens, with label smoothing and further terms."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol, runtime_checkable

from jaxtyping import Int
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.sampled_choices import choosing
from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Seq2Seq
from seq2see.nn.cross_entropy import output_cross_entropy
from seq2see.objectives.attention_coverage import record_attention
from seq2see.objectives.forward_pass import ForwardPass, LossTerm
from seq2see.objectives.objective import Loss


@runtime_checkable
class InputPolicy(Protocol):
    """What a decoder reads in training."""

    def __call__(self, model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Int[Tensor, "b t"]:
        """The inputs of the decoder: one for each target token, the start token first."""
        ...


def teacher_forcing(model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Int[Tensor, "b t"]:
    """The true targets, one position late."""
    return batch.inputs


class Likelihood:
    """The summed cross-entropy of all target tokens; padding is never computed at the output layer.

    L = - sum_t sum_w q_t(w) log p(w | y_<t, x), where q_t gives 1 - e to the target y_t and spreads e evenly over the
    vocabulary: label smoothing, Szegedy et al. 2016, section 7 (arXiv:1512.00567).

    Args:
        smoothing: e; 0 is the plain negative log-likelihood.
        inputs: what the decoder reads in the place of y_<t.
        terms: are added one after the other, each to the loss so far.
    """

    def __init__(
        self, *, smoothing: float = 0.0, inputs: InputPolicy = teacher_forcing, terms: Sequence[LossTerm] = ()
    ) -> None:
        self.smoothing, self.inputs, self.terms = smoothing, inputs, tuple(terms)

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        """The loss of a batch at an update."""
        forward, total = self._run(model, batch, step)
        for term in self.terms:
            total = term.add(total, forward, step)
        return Loss(total, forward.nll.sum(), len(forward.targets))

    def needs_references(self, step: int) -> bool:
        """Whether a term needs all targets of the sources at an update."""
        return any(term.needs_references(step) for term in self.terms)

    def _run(self, model: Seq2Seq, batch: Batch, step: int) -> tuple[ForwardPass, Tensor]:
        """The forward pass, and the cross-entropy that its terms are added to."""
        decoder, output, mask = model.decoder, model.decoder.output, batch.target_mask
        memory = model.encoder(batch.source, batch.source_mask)
        inputs = self.inputs(model, memory, batch, step)
        traced = any(term.reads_attention for term in self.terms)
        with choosing() as choices, record_attention(model) if traced else nullcontext() as trace:
            features = decoder.features(inputs, memory)[mask]
        targets, smoothing = batch.targets[mask], self.smoothing
        total, nll = output_cross_entropy(features, output.weight, output.bias, targets, smoothing=smoothing)
        forward = ForwardPass(model, batch, memory, inputs, features, targets, nll, smoothing, choices, trace)
        return forward, total
