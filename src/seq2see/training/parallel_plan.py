"""How a data-parallel training is divided: processes, threads, and the part of a batch that each process gets."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import distributed, nn

from seq2see.config.schema import Train
from seq2see.core.errors import ConfigError
from seq2see.data.batch import Rows
from seq2see.system.devices import choose_device
from seq2see.training.training_state import SavedPlan

LOCAL_RANK = "LOCAL_RANK"  # which of the processes on its machine this one is, as torchrun sets it
SMALL_MODEL_PARAMETERS = 1_000_000  # below, processes and threads wait for each other as long as they save
MIN_TOKENS_PER_WORKER = 1024  # of an update
TOKENS_PER_CAPTION_TOKEN = 16  # where sources are images, whose cells are not counted as tokens


@dataclass(frozen=True)
class ParallelPlan:
    """The processes of a training; the last bits of all sums depend on them.

    Args:
        workers: how many processes share every batch, the main one included.
        threads: the threads of each process.
    """

    workers: int = 1
    threads: int = 1


def choose_training_device(train: Train) -> torch.device:
    """Return the device of a training; several processes share the CPU alone.

    Args:
        train: section `train` of the configuration.

    Raises:
        ConfigError: there is no such device, or several processes would share an accelerator.
    """
    if train.device == "auto" and train.workers > 1:
        return torch.device("cpu")
    device = choose_device(train.device, path=("train", "device"))
    if device.type != "cpu" and train.workers > 1:
        raise ConfigError(
            f"train.workers must be 0 or 1 on {device}, because several processes share the CPU alone; got "
            f"{train.workers}.",
            path=("train", "workers"),
        )
    place = os.environ.get(LOCAL_RANK, "")
    if device.type != "cpu" and device.index is None and place.isdecimal():
        return torch.device(device.type, int(place))  # one of several processes of a machine that torchrun started
    return device


def plan_workers(train: Train, model: nn.Module) -> ParallelPlan:
    """Return as many processes and threads as make the training faster; if threads alone are configured, one process.

    Args:
        train: section `train` of the configuration; its `workers` and `threads` are taken unless they are 0.
        model: the model; a small one that reads texts gets one process with one thread.
    """
    cores = torch.get_num_threads()
    if next(model.parameters()).device.type != "cpu":
        return ParallelPlan(1, train.threads or cores)
    images = hasattr(getattr(model, "encoder", None), "image_size")
    if _is_small(model) and not images:
        return ParallelPlan(train.workers or 1, train.threads or 1)
    able = distributed.is_available() and distributed.is_gloo_available()
    tokens = train.batch_tokens * train.accumulate * (TOKENS_PER_CAPTION_TOKEN if images else 1)
    most = tokens // MIN_TOKENS_PER_WORKER if able and not train.threads else 1
    workers = train.workers or max(min(cores, most), 1)
    return ParallelPlan(workers, train.threads or max(cores // workers, 1))


def plan_launched(train: Train, workers: int) -> ParallelPlan:
    """Return the plan of a training whose processes torchrun has started.

    Args:
        train: section `train` of the configuration.
        workers: how many processes torchrun has started.

    Raises:
        ConfigError: the configuration asks for another number of processes.
    """
    if train.workers not in (0, workers):
        raise ConfigError(
            f"torchrun has started {workers} processes, and train.workers is {train.workers}; leave train.workers out."
        )
    return ParallelPlan(workers, train.threads or torch.get_num_threads())


def restore_plan(train: Train, model: nn.Module, saved: SavedPlan | None) -> ParallelPlan:
    """Return the plan that a training began with: what is configured, else what was saved, else one process.

    Args:
        train: section `train` of the configuration; its `workers` and `threads` are taken unless they are 0.
        model: the model; its size decides on the threads where nothing was saved.
        saved: workers and threads as a checkpoint has them; None if it has none.
    """
    if next(model.parameters()).device.type != "cpu":
        return plan_workers(train, model)
    before = saved or SavedPlan(workers=1, threads=1 if _is_small(model) else torch.get_num_threads())
    return ParallelPlan(train.workers or before.workers, train.threads or before.threads)


def cut(rows: Rows, source: Rows, target: Rows, pieces: int) -> list[Rows]:
    """Cut a batch, in its order, so that the most expensive piece is as cheap as possible; some may be empty.

    A piece of n pairs costs n times its longest source plus its longest target, because it is padded to them.

    Args:
        rows: the rows of the batch in a store.
        source: the source lengths of all rows of the store, in tokens.
        target: the target lengths of all rows of the store, in tokens.
        pieces: how many pieces to return.
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
    """Return where all pieces but the first begin, if each takes as many pairs as cost no more than the limit."""
    cuts, start, source, target = [], 0, 0, 0
    for place, (s, t) in enumerate(lengths):
        source, target = max(source, s), max(target, t)
        if (place + 1 - start) * (source + target) > limit:
            cuts.append(place)
            start, source, target = place, s, t
    return cuts


def _is_small(model: nn.Module) -> bool:
    return sum(parameter.numel() for parameter in model.parameters()) < SMALL_MODEL_PARAMETERS
