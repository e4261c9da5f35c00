"""The team of a training: how many processes and threads, and which part of a batch each of them gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import distributed, nn

from seq2see.config.schema import Train
from seq2see.data.batch import Rows

SMALL = 1_000_000  # parameters; below, processes and threads spend as much time waiting for each other as they save
SHARE = 1024  # tokens of an update that are worth a process of their own
PICTURE = 16  # as many tokens is one worth if sources are pictures, whose cells are counted nowhere


@dataclass(frozen=True)
class Team:
    """Who works on an update; sums depend on it bit by bit."""

    workers: int = 1  # processes
    threads: int = 1  # of each


def choose_team(train: Train, model: nn.Module) -> Team:
    """As many processes and threads as are worth their trouble; who asks for threads alone gets one process."""
    cores = torch.get_num_threads()
    pictures = hasattr(getattr(model, "encoder", None), "picture_size")
    if _is_small(model) and not pictures:
        return Team(train.workers or 1, train.threads or 1)
    able = distributed.is_available() and distributed.is_gloo_available()
    tokens = train.batch_tokens * train.accumulate * (PICTURE if pictures else 1)
    most = tokens // SHARE if able and not train.threads else 1
    workers = train.workers or max(min(cores, most), 1)
    return Team(workers, train.threads or max(cores // workers, 1))


def recall_team(train: Train, model: nn.Module, saved: Mapping[str, int] | None) -> Team:
    """The team that a training began with: what is configured, else what was saved; older runs had one process."""
    before = saved or {"workers": 1, "threads": 1 if _is_small(model) else torch.get_num_threads()}
    return Team(train.workers or before["workers"], train.threads or before["threads"])


def cut(rows: Rows, source: Rows, target: Rows, pieces: int) -> list[Rows]:
    """Cut a batch, in its order, so that the costliest piece costs the least; with few rows, some pieces are empty.

    A piece of n pairs costs n times its longest source plus its longest target, because it is padded to them.
    """
    lengths = list(zip(source[rows].tolist(), target[rows].tolist(), strict=True))
    longest = max(s for s, _ in lengths) + max(t for _, t in lengths)
    low, high = max(s + t for s, t in lengths), -(-len(rows) // pieces) * longest
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(_fill(lengths, middle)) < pieces else (middle + 1, high)
    parts = np.split(rows, _fill(lengths, high))
    return parts + [rows[:0]] * (pieces - len(parts))


def _fill(lengths: Sequence[tuple[int, int]], limit: int) -> list[int]:
    """Where pieces begin, but for the first, if each takes as much as costs no more than the limit."""
    cuts, start, source, target = [], 0, 0, 0
    for place, (s, t) in enumerate(lengths):
        source, target = max(source, s), max(target, t)
        if (place + 1 - start) * (source + target) > limit:
            cuts.append(place)
            start, source, target = place, s, t
    return cuts


def _is_small(model: nn.Module) -> bool:
    return sum(parameter.numel() for parameter in model.parameters()) < SMALL
