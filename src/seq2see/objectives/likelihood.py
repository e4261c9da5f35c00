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
    """Chooses what a decoder reads in training."""

    def __call__(self, model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Int[Tensor, "b t"]:
        """Return the inputs of the decoder: one for each target token, the start token first.

        Args:
            model: the model that learns.
            memory: what its encoder returned for the sources of the batch.
            batch: the batch with the true targets.
            step: the number of the update, from 1; at step 0 no schedule has begun.
        """
        ...


def teacher_forcing(model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Int[Tensor, "b t"]:
    """Return the true targets, one position late, with the start token first.

    Args:
        model: has no effect.
        memory: has no effect.
        batch: the batch with the true targets.
        step: has no effect.
    """
    return batch.inputs


class Likelihood:
    """Computes the summed cross-entropy of all target tokens; padding is never computed at the output layer.

    L = - sum_t sum_w q_t(w) log p(w | y_<t, x), where q_t gives 1 - e to the target y_t and spreads e evenly over the
    vocabulary: label smoothing (Szegedy et al. 2016, arXiv:1512.00567, section 7).

    Args:
        smoothing: e; 0 is the plain negative log-likelihood.
        inputs: chooses what the decoder reads in the place of y_<t.
        terms: further terms, each of which gets the loss with those before it.
    """

    def __init__(
        self, *, smoothing: float = 0.0, inputs: InputPolicy = teacher_forcing, terms: Sequence[LossTerm] = ()
    ) -> None:
        self.smoothing, self.inputs, self.terms = smoothing, inputs, tuple(terms)

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch at an update."""
        forward, total = self._run(model, batch, step)
        for term in self.terms:
            total = term.add(total, forward, step)
        return Loss(total, forward.nll.sum(), len(forward.targets))

    def needs_references(self, step: int) -> bool:
        """Return whether a term needs all targets of the sources at an update.

        Args:
            step: the number of the update, from 1.
        """
        return any(term.needs_references(step) for term in self.terms)

    def _run(self, model: Seq2Seq, batch: Batch, step: int) -> tuple[ForwardPass, Tensor]:
        """Return the forward pass, and the cross-entropy that the terms are added to."""
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
