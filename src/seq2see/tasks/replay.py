"""Replay: one teacher-forced pass over outputs that are already known; all that is said of a text goes through it.

Forced decoding computes p(y_t | y_<t, x) for a given output y, whatever search found it. Attention maps, probabilities
and alternatives that are read off this pass always belong to exactly this output.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.special_tokens import START
from seq2see.core.trace import Trace, tracing
from seq2see.data.storage.packed import pad
from seq2see.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Replay:
    """What a model computed for a batch of given outputs.

    Args:
        targets: the ids of the outputs, the end mark included, padded, [b t].
        memory: what the encoder returned for the sources.
        features: what the output layer sees before each token, [b t d].
        output_layer: the layer from features to logits.
        trace: the attention of the pass; None unless it was traced.
    """

    targets: Int[Tensor, "b t"]
    memory: Memory
    features: Float[Tensor, "b t d"]
    output_layer: nn.Linear
    trace: Trace | None

    @torch.inference_mode()
    def logits(self) -> Float[Tensor, "b t v"]:
        """Return the logits from which each token was chosen."""
        return self.output_layer(self.features)

    @torch.inference_mode()
    def log_probability(self) -> Float[Tensor, " b"]:
        """Return log p(y | x) of each output; all outputs of the batch must be equally long."""
        logprobs = self.logits().log_softmax(dim=-1)
        return logprobs.gather(2, self.targets.unsqueeze(2)).sum(dim=(1, 2))


@torch.inference_mode()
def replay(
    model: Seq2Seq, sources: tuple[Tensor, Tensor], outputs: Sequence[Sequence[int]], *, traced: bool = False
) -> Replay:
    """Run the model over given outputs, in evaluation mode; a traced run keeps the weights of every Attend.

    Args:
        model: the model; it is put into evaluation mode.
        sources: a batch of b sources and its mask (True at real positions), as the encoder takes them.
        outputs: the ids of an output for each source, the end mark included.
        traced: whether to record attention; a model without attention then raises an AttentionError.
    """
    model.eval()
    targets = pad(outputs)[0].to(model.device)
    inputs = pad([[START, *ids[:-1]] for ids in outputs])[0].to(model.device)
    with tracing(model) if traced else nullcontext() as trace:
        memory = model.encoder(*model.place(sources))
        features = model.decoder.features(inputs, memory)
    return Replay(targets, memory, features, model.decoder.output, trace)
