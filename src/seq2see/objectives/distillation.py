"""Knowledge distillation: a model learns the probabilities that its teachers give to every token."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Seq2Seq
from seq2see.nn.cross_entropy import shift_targets
from seq2see.objectives.forward_pass import ForwardPass, LossTerm


class Distillation(LossTerm):
    """Adds what turns the likelihood's cross-entropy into one whose targets are partly the teachers' probabilities.

    The targets q become (1 - weight) q + weight p, where p is the mean of the teachers' probabilities: distillation
    (Hinton et al. 2015, arXiv:1503.02531), token by token as in Kim & Rush 2016 (arXiv:1606.07947), section 3.1.

    Args:
        teachers: models with the vocabularies of the model that learns; their weights do not change.
        weight: the share of the teachers in each target, from 0 to 1.
    """

    def __init__(self, *, teachers: Sequence[Seq2Seq], weight: float) -> None:
        self.teachers, self.weight = tuple(teachers), weight

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """Return the loss with the targets of the equation."""
        output = forward.model.decoder.output
        probabilities = teacher_probabilities(self.teachers, forward.batch, forward.inputs)
        shift = shift_targets(
            forward.features,
            output.weight,
            output.bias,
            forward.targets,
            probabilities,
            smoothing=forward.smoothing,
        )
        return total + self.weight * shift


@torch.no_grad()
def teacher_probabilities(
    teachers: Sequence[Seq2Seq], batch: Batch, inputs: Int[Tensor, "b t"]
) -> Float[Tensor, "n v"]:
    """Return the mean of the teachers' probabilities at each of n target tokens, padding left out; without gradients.

    Args:
        teachers: the models, at least one.
        batch: the batch whose targets the model learns.
        inputs: what the decoders read, [b t]: the same as the decoder of the model that learns.
    """
    each = []
    for teacher in teachers:
        memory = teacher.encoder(batch.source, batch.source_mask)
        features = teacher.decoder.features(inputs, memory)[batch.target_mask]
        each.append(teacher.output_layer(features).softmax(dim=1))
    return torch.stack(each).mean(dim=0)
