"""The cross-attention of many outputs, found or given, replayed in batches."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float32
from torch import Tensor

from seq2see.core.errors import AttentionError
from seq2see.data.batch import group_by_length
from seq2see.data.modalities.modality import Grid
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.forced_output import ForcedOutput
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.replay import replay
from seq2see.tasks.transduction import Transduction

MAX_POSITIONS = 2048  # source positions that are replayed at once


def trace_cross_attention(
    task: Transduction, model: Seq2Seq, outputs: Sequence[ForcedOutput]
) -> Iterator[tuple[int, AttentionTrace]]:
    """Yield the number and the trace of each output, with its maps from target to source.

    Args:
        task: the task of the run.
        model: the model that computes the attention in one teacher-forced pass a batch.
        outputs: the outputs, none of which is empty.

    Yields:
        The number of an output, from 0, and its trace; the longest sources come first.

    Raises:
        AttentionError: if the model has no attention from target to source.
    """
    sources = task.source.prepare([each.source for each in outputs])
    for rows in group_by_length(sources.lengths, budget=MAX_POSITIONS) if outputs else ():
        numbers = rows.tolist()
        grid, maps = _replay_batch(model, sources.gather(numbers), [outputs[number].ids for number in numbers])
        for row, number in enumerate(numbers):
            one = outputs[number]
            tokens = task.source.positions(one.source, grid)
            real = (slice(None), slice(len(one.ids)), slice(len(tokens)))  # without padding
            found = tuple(AttentionMap(name, weights[row][real].copy()) for name, weights in maps.items())
            yield number, AttentionTrace(one.source, one.target, tokens, one.tokens, found, grid)


def _replay_batch(
    model: Seq2Seq, sources: tuple[Tensor, Tensor], outputs: Sequence[Sequence[int]]
) -> tuple[Grid | None, dict[str, Float32[np.ndarray, "b h t s"]]]:
    replayed = replay(model, sources, outputs, traced=True)
    memory, trace = replayed.memory, replayed.trace
    assert trace is not None
    found = {name: trace.weights(name).float().cpu().numpy() for name in trace.source_names}
    # an encoder that reads nothing leaves a memory that belongs to no token, and so do the rows of a memory matrix
    positions = memory.mask.shape[1] if memory.grid else sources[0].shape[1] if memory.head_weights is None else 0
    maps = {name: weights for name, weights in found.items() if weights.shape[3] == positions}
    if not maps:
        raise AttentionError("this model has no attention from target to source to show.")
    return memory.grid, maps
