"""Occlusion: how much less probable an output is when each part of its source is left out (leave-one-out).

The drop of part i is log p(y | x) - log p(y | x without i) for a text y, and p(y | x) - p(y | x without i) for a label
(Zeiler & Fergus 2014, arXiv:1311.2901, for images; Li et al. 2016, arXiv:1612.08220, for words). It needs no attention,
so it tells how faithful attention is (Jain & Wallace 2019, arXiv:1902.10186).
"""

import random

import numpy as np
import torch

from seq2see.data.batch import group_by_length
from seq2see.explain.output_trace import Drops, OutputTrace, Parts
from seq2see.models.network import Network
from seq2see.tasks.task import Output, Task

MAX_POSITIONS = 8192  # source positions that are read at once
MAX_SOURCES = 64  # sources that are read at once


def measure_drops(
    task: Task, model: Network, trace: OutputTrace, output: Output, *, max_parts: int | None = None
) -> OutputTrace:
    """Return the trace with the probability drop of every word, sentence or region of the source.

    Args:
        task: the task of the run that wrote the output.
        model: the model of that run.
        trace: the attention behind the output.
        output: the output whose probability is measured.
        max_parts: how many parts of a group are left out at most: of more, as many are drawn, always the same ones,
            and the drops of the others are NaN. None: all parts.
    """
    groups = trace.list_parts(task.source, output.source)
    drops = [_leave_some_out(task, model, output, parts, max_parts or len(parts)) for parts in groups]
    return trace.with_drops(groups, drops)


def _leave_some_out(task: Task, model: Network, output: Output, parts: Parts, most: int) -> Drops:
    if len(parts) <= most:
        return leave_one_out(task, model, output.source, output, parts)
    drops = np.full(len(parts), np.nan)
    chosen = sorted(random.Random(len(parts)).sample(range(len(parts)), most))
    some = [parts[number] for number in chosen]
    drops[chosen] = leave_one_out(task, model, output.source, output, some)  # type: ignore[arg-type]
    return drops


@torch.inference_mode()
def leave_one_out(task: Task, model: Network, source: str, output: Output, parts: Parts) -> Drops:
    """Return how much the probability of a label, or the log-probability of a text, drops without each part.

    A drop below 0 means that the output is more probable without the part.

    Args:
        task: the task of the run that wrote the output.
        model: the model of that run; it is put into evaluation mode.
        source: the source as it was given.
        output: the output whose probability is measured.
        parts: spans of the source in characters, or regions of an image, each of which is left out once.

    Returns:
        One drop for each part, in the order of the parts; log-probabilities are in nats.
    """
    model.eval()
    variants = task.source.occlude(source, parts)
    scores = np.empty(len(variants))
    for rows in group_by_length(variants.lengths, budget=MAX_POSITIONS):
        for some in np.split(rows, range(MAX_SOURCES, len(rows), MAX_SOURCES)):
            scores[some] = task.score_output(model, variants.gather(some.tolist()), output).cpu().double().numpy()
    return np.asarray(scores[0] - scores[1:])
