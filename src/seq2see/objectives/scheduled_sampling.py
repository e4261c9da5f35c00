"""Scheduled sampling: the decoder reads some of the model's own predictions in the place of the true tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.special_tokens import END, PAD, START, UNKNOWN
from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Decoder, Seq2Seq
from seq2see.nn.cross_entropy import MAX_LOGIT_ROWS

NEVER_READ = [PAD, START, UNKNOWN, END]  # tokens that are never predicted, or that nothing follows


class ScheduledSampling:
    """Replaces inputs of the decoder by the model's own predictions, with a probability that rises during training.

    Scheduled sampling (Bengio et al. 2015, arXiv:1506.03099) in two passes (Mihaylova & Martins 2019, arXiv:1906.07651,
    section 3). At update k of K each input is replaced with the probability share * k / K: a linear schedule from 0.

    Args:
        share: the probability at the last update, from 0 to 1.
        updates: K, all updates of the training.
    """

    def __init__(self, *, share: float, updates: int) -> None:
        self.share, self.updates = share, updates

    def probability(self, step: int) -> float:
        """Return the probability that an input is replaced at an update.

        Args:
            step: the number of the update, from 1; 0 replaces none.
        """
        return self.share * step / self.updates

    def __call__(self, model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Int[Tensor, "b t"]:
        """Return the inputs of the decoder at an update, [b t]."""
        probability = self.probability(step)
        return replace_inputs(model.decoder, memory, batch, probability=probability) if probability else batch.inputs


@torch.no_grad()
def replace_inputs(decoder: Decoder, memory: Memory, batch: Batch, *, probability: float) -> Int[Tensor, "b t"]:
    """Return the inputs of a batch, each but the start token replaced at random by what the model predicts there.

    A first pass over the true inputs predicts every token, whatever the decoder; the second pass, over the inputs that
    are returned here, is the one that is trained. No gradients flow through the first pass.

    Args:
        decoder: the decoder that learns.
        memory: what the encoder returned for the sources.
        batch: the batch with the true inputs.
        probability: the probability that an input is replaced, from 0 to 1.
    """
    mask = batch.target_mask
    predicted = batch.targets.clone()
    predicted[mask] = _predict_tokens(decoder.features(batch.inputs, memory)[mask], decoder.output)
    late = torch.cat([batch.inputs[:, :1], predicted[:, :-1]], dim=1)
    replaced = (torch.rand(mask.shape, device=mask.device) < probability) & mask
    return torch.where(replaced, late, batch.inputs)


def _predict_tokens(features: Float[Tensor, "n d"], output: nn.Linear) -> Int[Tensor, " n"]:
    """Return the most probable token of each row, in chunks, so that the full logits are never in memory."""
    best = []
    for rows in features.split(MAX_LOGIT_ROWS):
        logits = output(rows)
        logits[:, NEVER_READ] = -torch.inf
        best.append(logits.argmax(dim=1))
    return torch.cat(best)
