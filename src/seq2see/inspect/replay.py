"""Replaying many outputs, found or given, to see what the model looks at in the source while it writes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.core.trace import tracing
from seq2see.data.batch import group_by_length
from seq2see.data.sequences import pad
from seq2see.data.tokenise import START
from seq2see.inspect.attention import AttentionMap, AttentionTrace, Grid
from seq2see.inspect.explain import name_positions
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

BUDGET = 2048  # source positions that are replayed at once


@dataclass(frozen=True)
class Given:
    """A source with the target to write for it."""

    source: str
    target: str
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]


def give_output(output: Output) -> Given:
    """What the model itself wrote."""
    return Given(output.source, output.text, output.ids, output.tokens)


def give_target(task: Transduction, source: str, target: str) -> Given:
    """A target of your own (forced decoding), with offsets into it also where its words are unknown."""
    encoding = task.target.encode(target)
    return Given(source, target, encoding.ids, encoding.tokens)


def replay(task: Transduction, model: Seq2Seq, given: Sequence[Given]) -> Iterator[tuple[int, AttentionTrace]]:
    """The place and the trace of each, neighbours in length together; only attention from target to source."""
    model.eval()
    sources = task.source.prepare([each.source for each in given])
    for rows in group_by_length(sources.lengths, budget=BUDGET) if given else ():
        places = rows.tolist()
        grid, maps = _look(model, sources.gather(places), [given[place].ids for place in places])
        for row, place in enumerate(places):
            one = given[place]
            tokens = name_positions(task, one.source, grid)
            cut = (slice(None), slice(len(one.ids)), slice(len(tokens)))
            found = tuple(AttentionMap(name, weights[row][cut].copy()) for name, weights in maps.items())
            yield place, AttentionTrace(one.source, one.target, tokens, one.tokens, found, grid)


@torch.inference_mode()
def _look(
    model: Seq2Seq, sources: tuple[Tensor, Tensor], targets: Sequence[tuple[int, ...]]
) -> tuple[Grid | None, dict[str, Float32[np.ndarray, "b h t s"]]]:
    inputs, _ = pad([[START, *target[:-1]] for target in targets])
    with tracing(model) as trace:
        memory = model.encoder(*sources)
        model.decoder.features(inputs, memory)
    seen = {name: trace.weights(name).float().numpy() for name in trace.source_names}
    # an encoder that reads nothing leaves a memory that stands for no token, and so do the rows of a machine
    positions = memory.mask.shape[1] if memory.grid else sources[0].shape[1] if memory.focus is None else 0
    maps = {name: weights for name, weights in seen.items() if weights.shape[3] == positions}
    if not maps:
        raise AttentionError("this model has no attention from target to source to show.")
    return memory.grid, maps
