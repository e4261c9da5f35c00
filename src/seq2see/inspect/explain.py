"""Explaining an output: replay it under tracing, so that the maps always belong to it, whatever search found it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from seq2see.core.errors import AttentionError
from seq2see.core.memory import Memory
from seq2see.core.token import Token
from seq2see.core.trace import Trace, tracing
from seq2see.data.tokenise import START
from seq2see.inspect.attention import AttentionMap, AttentionTrace, Side
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.transduction import Transduction

ROW = "row\N{NARROW NO-BREAK SPACE}{}"  # a plain space would be drawn as a mark
USED = 0.1  # of an even share of the attention; a row of a machine's memory that never got it is left out


@torch.inference_mode()
def explain(task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int]) -> AttentionTrace:
    """What every Attend of the model looked at while it wrote `ids`, the end mark included."""
    model.eval()
    encoding = task.source.encode(source)
    tokens = torch.tensor([encoding.ids])
    with tracing(model) as trace:
        memory = model.encoder(tokens, torch.ones_like(tokens, dtype=torch.bool))
        logits = model.decoder(torch.tensor([[START, *ids[:-1]]]), memory)
    maps = [_read_map(trace, name, memory) for name in trace.names]
    # an encoder that reads nothing leaves a memory that stands for no token
    shown = [each for each in maps if each.keys != "source" or each.weights.shape[2] == len(encoding.ids)]
    if not shown:
        raise AttentionError("this model has no attention to show: its memory does not stand for tokens of the source.")
    sure = logits[0].softmax(dim=-1).gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1).tolist()
    target = task.target.tokens(ids)
    used = _find_used(shown)
    return AttentionTrace(
        source=source,
        target=task.target.decode(ids),
        source_tokens=encoding.tokens,
        target_tokens=tuple(replace(token, confidence=p) for token, p in zip(target, sure, strict=True)),
        maps=tuple(replace(m, weights=m.weights[:, :, used]) if m.keys == "rows" else m for m in shown),
        rows=tuple(Token(ROW.format(row), 0, 0) for row in used),
    )


def _read_map(trace: Trace, name: str, memory: Memory) -> AttentionMap:
    """One map with what stands on its sides: an encoder looks at its source, and who looks back at what it has read."""
    weights = trace.weights(name)[0].float().numpy()
    there: Side = "source" if memory.focus is None else "rows"
    if name.startswith("encoder."):
        return AttentionMap(name, weights, queries="source", keys=there)
    return AttentionMap(name, weights, keys="inputs" if trace.is_causal(name) else there)


def _find_used(maps: Sequence[AttentionMap]) -> list[int]:
    """The rows of a memory worth showing: those that at some step got a tenth of an even share, or more."""
    weights = [each.weights.max(axis=(0, 1)) for each in maps if each.keys == "rows"]
    return np.flatnonzero(np.max(weights, axis=0) * len(weights[0]) >= USED).tolist() if weights else []
