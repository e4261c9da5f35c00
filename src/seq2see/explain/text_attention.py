"""The attention behind one text: every map of the model while it wrote exactly this output."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seq2see.core.errors import AttentionError
from seq2see.core.memory import Memory
from seq2see.core.token import Token
from seq2see.core.trace import Trace
from seq2see.data.sentence_splitter import show_sentences
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, Side
from seq2see.explain.image_grid import show_pixels
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.replay import replay
from seq2see.tasks.task import Output, Task
from seq2see.tasks.transduction import Transduction

MEMORY_ROW = "row\N{NARROW NO-BREAK SPACE}{}"  # a plain space would be drawn as a mark
USED_SHARE = 0.1  # of a uniform weight; a row of a memory matrix that never got so much is not shown


def explain_text(task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int]) -> AttentionTrace:
    """Replay an output and return every attention map behind it.

    Args:
        task: the task of the run that wrote the output.
        model: the model of that run; it is put into evaluation mode.
        source: the source as it was given.
        ids: the ids of the output, the end mark included.

    Raises:
        AttentionError: if the model has no attention, or none that belongs to tokens of the source.
    """
    given = task.source.prepare([source]).gather([0])
    replayed = replay(model, given, [ids], traced=True)
    memory, trace = replayed.memory, replayed.trace
    assert trace is not None
    tokens = task.source.positions(source, memory.grid)
    maps = [_drop_class_token(_read_map(trace, name, memory), memory) for name in trace.names]
    # an encoder that reads nothing leaves a memory that belongs to no token
    shown = [each for each in maps if each.keys != "source" or each.weights.shape[2] == len(tokens)]
    # and the words inside a sentence are not the sentences
    shown = [each for each in shown if each.queries != "source" or each.weights.shape[1] == len(tokens)]
    if not shown:
        raise AttentionError("this model has no attention to show: its memory does not belong to tokens of the source.")
    probabilities = replayed.logits()[0].softmax(dim=-1).gather(1, replayed.targets[0].unsqueeze(1)).squeeze(1).tolist()
    target = zip(task.target.tokens(ids), probabilities, strict=True)
    used = _find_used_rows(shown)
    return AttentionTrace(
        source=show_sentences(source),
        target=task.target.decode(ids),
        source_tokens=tokens,
        target_tokens=tuple(replace(token, confidence=probability) for token, probability in target),
        maps=tuple(_keep_rows(each, used) for each in shown),
        memory_rows=tuple(Token(MEMORY_ROW.format(row), 0, 0) for row in used),
        grid=memory.grid,
        image=show_pixels(given[0]) if memory.grid else None,
    )


def trace_without_attention(task: Task, output: Output) -> AttentionTrace:
    """Return a trace without maps, as of a model without attention: the tokens, and the pixels of an image source.

    Args:
        task: the task of the run that wrote the output.
        output: the output, a text or a label.
    """
    source = output.source
    trace = AttentionTrace(show_sentences(source), output.text, task.source.tokens(source), output.tokens, ())
    return replace(trace, image=show_pixels(task.source.prepare([source]).gather([0])[0]))


def _read_map(trace: Trace, name: str, memory: Memory) -> AttentionMap:
    """Return one map with its sides: an encoder attends to its source, and a causal Attend to the decoder's inputs."""
    weights = trace.weights(name)[0].float().cpu().numpy()
    memory_side: Side = "source" if memory.head_weights is None else "memory_rows"
    if name.startswith("encoder."):
        return AttentionMap(name, weights, queries="source", keys=memory_side)
    return AttentionMap(name, weights, keys="inputs" if trace.is_causal(name) else memory_side)


def _drop_class_token(map_: AttentionMap, memory: Memory) -> AttentionMap:
    """Return the self-attention of an image's cells without the class token in front of them."""
    cells = memory.mask.shape[1]
    has_class_token = map_.queries == map_.keys == "source" and map_.weights.shape[1:] == (cells + 1, cells + 1)
    return replace(map_, weights=map_.weights[:, 1:, 1:]) if memory.grid and has_class_token else map_


def _find_used_rows(maps: Sequence[AttentionMap]) -> list[int]:
    """Return the rows of a memory matrix that at some step got a tenth of a uniform weight, or more."""
    weights = [each.weights.max(axis=(0, 1)) for each in maps if each.keys == "memory_rows"]
    return np.flatnonzero(np.max(weights, axis=0) * len(weights[0]) >= USED_SHARE).tolist() if weights else []


def _keep_rows(map_: AttentionMap, used: Sequence[int]) -> AttentionMap:
    return replace(map_, weights=map_.weights[:, :, used]) if map_.keys == "memory_rows" else map_
