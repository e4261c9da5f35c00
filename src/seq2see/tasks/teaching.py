"""Teachers: models that say, for every token that another one learns, how likely each of its vocabulary is."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Seq2Seq


@torch.no_grad()
def ask_teachers(teachers: Sequence[Seq2Seq], batch: Batch, inputs: Int[Tensor, "b t"]) -> Float[Tensor, "n v"]:
    """The mean of the teachers' probabilities at each target token, padding left out."""
    said = []
    for teacher in teachers:
        memory = teacher.encoder(batch.source, batch.source_mask)
        features = teacher.decoder.features(inputs, memory)[batch.target_mask]
        said.append(teacher.output(features).softmax(dim=1))
    return torch.stack(said).mean(dim=0)
