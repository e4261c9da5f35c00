"""Explaining an output: replay it under tracing, so that the maps always belong to it, whatever search found it."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from seq2see.core.errors import Seq2SeeError
from seq2see.core.trace import tracing
from seq2see.data.tokenise import START
from seq2see.inspect.attention import AttentionMap, AttentionTrace
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.transduction import Transduction


@torch.inference_mode()
def explain(task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int]) -> AttentionTrace:
    """What every Attend of the model looked at while it wrote `ids`, the end mark included."""
    model.eval()
    encoding = task.source.encode(source)
    tokens = torch.tensor([encoding.ids])
    with tracing(model) as trace:
        logits = model(tokens, torch.ones_like(tokens, dtype=torch.bool), torch.tensor([[START, *ids[:-1]]]))
    if all(trace.weights(name).shape[-1] != tokens.shape[1] for name in trace.names):
        raise Seq2SeeError("this model has no attention to show: what it attends to is not its source.")
    sure = logits[0].softmax(dim=-1).gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1).tolist()
    target = task.target.tokens(ids)
    return AttentionTrace(
        source=source,
        target=task.target.decode(ids),
        source_tokens=encoding.tokens,
        target_tokens=tuple(replace(token, confidence=p) for token, p in zip(target, sure, strict=True)),
        maps=tuple(AttentionMap(name, trace.weights(name)[0].float().numpy()) for name in trace.names),
    )
