"""Explaining an output: replay it under tracing, so that the maps always belong to it, whatever search found it."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from seq2see.core.errors import AttentionError
from seq2see.core.trace import Trace, tracing
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
    maps = [_read_map(trace, name) for name in trace.names]
    # an encoder that reads nothing leaves a memory that stands for no token
    shown = [each for each in maps if each.keys != "source" or each.weights.shape[2] == len(encoding.ids)]
    if not shown:
        raise AttentionError("this model has no attention to show: its memory does not stand for tokens of the source.")
    sure = logits[0].softmax(dim=-1).gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1).tolist()
    target = task.target.tokens(ids)
    return AttentionTrace(
        source=source,
        target=task.target.decode(ids),
        source_tokens=encoding.tokens,
        target_tokens=tuple(replace(token, confidence=p) for token, p in zip(target, sure, strict=True)),
        maps=tuple(shown),
    )


def _read_map(trace: Trace, name: str) -> AttentionMap:
    """One map with what stands on its sides: an encoder looks at its source, and who looks back at what it has read."""
    weights = trace.weights(name)[0].float().numpy()
    if name.startswith("encoder."):
        return AttentionMap(name, weights, queries="source", keys="source")
    return AttentionMap(name, weights, keys="inputs" if trace.is_causal(name) else "source")
