"""Scheduled sampling: some target inputs are replaced by what the model itself would have written there."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.data.batch import Batch
from seq2see.data.sequences import PAD
from seq2see.data.tokenise import END, START, UNKNOWN
from seq2see.models.seq2seq import Decoder
from seq2see.nn.loss import CHUNK

NEVER = [PAD, START, UNKNOWN, END]  # what is never written, or after which nothing is


@torch.no_grad()
def mix_guesses(decoder: Decoder, memory: Memory, batch: Batch, *, share: float) -> Int[Tensor, "b t"]:
    """The inputs of a batch, a share of them (never the start mark) replaced by the model's best guesses.

    Mihaylova & Martins 2019, section 3: a first pass over the true inputs guesses every token, whatever the decoder;
    the second pass over the mixture is the one that is trained.
    """
    mask = batch.target_mask
    guesses = batch.targets.clone()
    guesses[mask] = _guess(decoder.features(batch.inputs, memory)[mask], decoder.output)
    late = torch.cat([batch.inputs[:, :1], guesses[:, :-1]], dim=1)
    replaced = (torch.rand(mask.shape) < share) & mask
    return torch.where(replaced, late, batch.inputs)


def _guess(features: Float[Tensor, "n d"], output: nn.Linear) -> Int[Tensor, " n"]:
    """The likeliest token of each row, in chunks, so that the full logits never exist."""
    best = []
    for rows in features.split(CHUNK):
        logits = output(rows)
        logits[:, NEVER] = -torch.inf
        best.append(logits.argmax(dim=1))
    return torch.cat(best)
