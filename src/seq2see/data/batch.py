"""Batches under a token budget, from neighbours in length, in an order that follows from seed and epoch alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64, Shaped
from torch import Tensor

from seq2see.core.special_tokens import PAD, START
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pad

Rows = Int64[np.ndarray, " _"]

RATIOS = (1.04, 1.07, 1.1, 1.13, 1.17, 1.22)  # of lengths in a band; the one that leads to the least padding is taken
FULL = 0.7  # a batch this full may end early where lengths change
FEW = 8  # batches for each of several workers: more of them even out by themselves


@dataclass(frozen=True)
class Batch:
    """Padded sources and targets; `inputs` are the targets one step late, with the start mark first."""

    source: Shaped[Tensor, "b *_"]  # ids of texts or documents, pixels or features of images
    source_mask: Bool[Tensor, "b *_"]
    inputs: Int[Tensor, "b t"]
    targets: Int[Tensor, "b t"]
    target_mask: Bool[Tensor, "b t"]
    references: Sequence[Sequence[Sequence[int]]] = ()  # all targets of each source, where outputs are compared


def plan_batches(source: Rows, target: Rows, *, budget: int, seed: int, epoch: int) -> list[Rows]:
    """Rows of each batch of one epoch, from the lengths of all pairs.

    A batch of n pairs is padded to its longest source and target; n times the longer of the two stays within the
    budget (a single pair may exceed it). Resuming needs no more than (seed, epoch, position in this list).
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(source))
    plans = [_plan(shuffled, source, target, ratio, budget) for ratio in RATIOS]
    batches = min(plans, key=lambda plan: max(measure_padding(plan, source), measure_padding(plan, target)))
    return [batches[number] for number in random.permutation(len(batches))]


def measure_padding(batches: Sequence[Rows], lengths: Rows) -> float:
    """The share of computed positions that hold no token."""
    computed = sum(len(rows) * int(lengths[rows].max()) for rows in batches)
    return 1 - int(lengths[np.concatenate(batches)].sum()) / computed


def collate(store: Store, rows: Rows, *, referring: bool = False) -> Batch:
    """One batch, padded; `referring` brings all targets that the sources have in the store."""
    source, source_mask = store.source.gather(rows.tolist())
    targets, target_mask = pad([store.target[row] for row in rows.tolist()])
    references = [store.references(row) for row in rows.tolist()] if referring else ()
    return Batch(source, source_mask, _delay(targets, target_mask), targets, target_mask, references)


def turn(batch: Batch) -> Batch:
    """The same pairs of texts the other way round; both sides must have one vocabulary."""
    inputs = _delay(batch.source, batch.source_mask)
    return Batch(batch.targets, batch.target_mask, inputs, batch.source, batch.source_mask)


def group_by_length(lengths: Rows, *, budget: int, workers: int = 1) -> list[Rows]:
    """Batches for prediction: neighbours in length, longest first, so that memory is needed at once or never.

    A few batches are cut anew so that each of several workers has as many as the others, all with as much to do.
    """
    order = np.argsort(-lengths, kind="stable")
    batches = np.split(order, _cut(order, lengths, lengths, budget))
    if len(batches) % workers == 0 or len(batches) > FEW * workers:
        return batches
    count = -(-len(batches) // workers) * workers
    work = np.cumsum(lengths[order])
    even = np.split(order, np.searchsorted(work, work[-1] * np.arange(1, count) / count))
    fits = all(len(batch) and len(batch) * lengths[batch].max() <= budget for batch in even)
    return even if fits else batches


def _delay(targets: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"]) -> Int[Tensor, "b t"]:
    """Targets one step late, with the start mark first."""
    inputs = torch.cat([torch.full((len(targets), 1), START), targets[:, :-1]], dim=1)
    return inputs.masked_fill(~mask, PAD)


def _plan(rows: Rows, source: Rows, target: Rows, ratio: float, budget: int) -> list[Rows]:
    """Batches of neighbours: by target length in bands up to `ratio`, in a band by source length, up and down in turn.

    Up and down in turn keeps sources alike where one band ends and the next begins; ties stay as shuffled.
    """
    _, band = np.unique((np.log(target[rows]) / np.log(ratio)).astype(np.int64), return_inverse=True)
    turn = np.where(band % 2 == 0, source[rows], -source[rows])
    order = rows[np.lexsort((turn, band))]
    return np.split(order, _cut(order, source, target, budget))


def _cut(order: Rows, source: Rows, target: Rows, budget: int) -> list[int]:
    """Where to cut an order so that every piece is within the budget: where the source length changes, if one can."""
    longest = np.maximum(source, target)[order].tolist()
    changes = [False, *(np.diff(source[order]) != 0).tolist()]
    cuts, start, place, widest, edge = [], 0, 0, 0, 0
    while place < len(longest):
        if changes[place] and (place - start) * widest >= FULL * budget:
            edge = place
        while place > start and (place + 1 - start) * max(widest, longest[place]) > budget:
            start = edge if edge > start else place
            cuts.append(start)
            widest = max(longest[start:place], default=0)
        widest = max(widest, longest[place])
        place += 1
    return cuts
