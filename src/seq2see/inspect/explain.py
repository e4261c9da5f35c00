"""Explaining an output: replay it under tracing, so that the maps always belong to it, whatever search found it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seq2see.core.errors import AttentionError
from seq2see.core.memory import Memory
from seq2see.core.token import Token
from seq2see.core.trace import Trace, tracing
from seq2see.data.documents import DocumentCutter
from seq2see.data.sentences import show_sentences
from seq2see.data.tokenise import START, Tokenizer
from seq2see.inspect.attention import AttentionMap, AttentionTrace, Grid, Picture, Side
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

ROW = "row\N{NARROW NO-BREAK SPACE}{}"  # a plain space would be drawn as a mark
CELL = "row\N{NARROW NO-BREAK SPACE}{},\N{NARROW NO-BREAK SPACE}column\N{NARROW NO-BREAK SPACE}{}"
USED = 0.1  # of an even share of the attention; a row of a machine's memory that never got it is left out


@torch.inference_mode()
def explain(task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int]) -> AttentionTrace:
    """What every Attend of the model looked at while it wrote `ids`, the end mark included."""
    model.eval()
    given = task.source.prepare([source]).gather([0])
    with tracing(model) as trace:
        memory = model.encoder(*given)
        logits = model.decoder(torch.tensor([[START, *ids[:-1]]]), memory)
    tokens = name_positions(task, source, memory.grid)
    maps = [_cut_map(_read_map(trace, name, memory), memory) for name in trace.names]
    # an encoder that reads nothing leaves a memory that stands for no token
    shown = [each for each in maps if each.keys != "source" or each.weights.shape[2] == len(tokens)]
    # nor do the words inside a sentence stand for the sentences
    shown = [each for each in shown if each.queries != "source" or each.weights.shape[1] == len(tokens)]
    if not shown:
        raise AttentionError("this model has no attention to show: its memory does not stand for tokens of the source.")
    sure = logits[0].softmax(dim=-1).gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1).tolist()
    target = task.target.tokens(ids)
    used = _find_used(shown)
    return AttentionTrace(
        source=show_sentences(source),
        target=task.target.decode(ids),
        source_tokens=tokens,
        target_tokens=tuple(replace(token, confidence=p) for token, p in zip(target, sure, strict=True)),
        maps=tuple(replace(m, weights=m.weights[:, :, used]) if m.keys == "rows" else m for m in shown),
        rows=tuple(Token(ROW.format(row), 0, 0) for row in used),
        grid=memory.grid,
        picture=show_pixels(given[0]) if memory.grid else None,
    )


def show_bare(task: Any, output: Output) -> AttentionTrace:
    """An output without maps, as of a model without attention: its tokens, and the picture if it was made for one."""
    cutter, source = task.source, output.source
    tokens = cutter.encode(source).tokens if isinstance(cutter, Tokenizer) else ()
    trace = AttentionTrace(show_sentences(source), output.text, tokens, output.tokens, ())
    if "picture_size" not in cutter.sizes:
        return trace
    return replace(trace, picture=show_pixels(cutter.prepare([source]).gather([0])[0]))


def show_pixels(source: Tensor) -> Picture | None:
    """The pixels that the encoder was given, as people look at them."""
    return source[0].permute(1, 2, 0).numpy() if source.dtype == torch.uint8 else None


def name_positions(task: Transduction, source: str, grid: Grid | None) -> tuple[Token, ...]:
    """What stands at each place of a memory: tokens of a text, sentences of a document, cells of a picture."""
    if grid is not None:
        return name_cells(grid)
    if isinstance(task.source, DocumentCutter):
        spans = [sentence.span for sentence in task.source.encode(source)]
        return tuple(Token(source[start:end], start, end) for start, end in spans)
    assert isinstance(task.source, Tokenizer)
    return task.source.encode(source).tokens


def name_cells(grid: Grid) -> tuple[Token, ...]:
    """The cells of a picture in reading order."""
    rows, columns = grid
    return tuple(Token(CELL.format(y, x), 0, 0) for y in range(1, rows + 1) for x in range(1, columns + 1))


def _read_map(trace: Trace, name: str, memory: Memory) -> AttentionMap:
    """One map with what stands on its sides: an encoder looks at its source, and who looks back at what it has read."""
    weights = trace.weights(name)[0].float().numpy()
    there: Side = "source" if memory.focus is None else "rows"
    if name.startswith("encoder."):
        return AttentionMap(name, weights, queries="source", keys=there)
    return AttentionMap(name, weights, keys="inputs" if trace.is_causal(name) else there)


def _cut_map(map_: AttentionMap, memory: Memory) -> AttentionMap:
    """The look of a picture's cells at each other, without the class token in front of them."""
    cells = memory.mask.shape[1]
    own = (map_.queries, map_.keys) == ("source", "source") and map_.weights.shape[1:] == (cells + 1, cells + 1)
    return replace(map_, weights=map_.weights[:, 1:, 1:]) if memory.grid and own else map_


def _find_used(maps: Sequence[AttentionMap]) -> list[int]:
    """The rows of a memory worth showing: those that at some step got a tenth of an even share, or more."""
    weights = [each.weights.max(axis=(0, 1)) for each in maps if each.keys == "rows"]
    return np.flatnonzero(np.max(weights, axis=0) * len(weights[0]) >= USED).tolist() if weights else []
