"""Batches under a token budget, from neighbours in length, in an order that follows from seed and epoch alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """Padded sources and targets of some pairs; `inputs` are the targets one position later, with the start mark first.

    Args:
        source: what the encoder reads: ids of texts `[b s]` with the end mark last, ids of documents `[b u w]`, pixels
            `[b 3 y x]` or features of images `[b d u v]`.
        source_mask: True where `source` is no padding: `[b s]`, `[b u w]`, or for images `[b 1]`, which is True
            everywhere.
        inputs: the ids `[b t]` that a decoder reads: the start mark, then all targets but the last.
        targets: the ids `[b t]` to predict: tokens with the end mark last, or the labels of each source.
        target_mask: True where `targets` is no padding, `[b t]`.
        references: the ids of all targets of each source, for objectives that compare outputs with them; empty for
            others.
    """

    source: Shaped[Tensor, "b *_"]
    source_mask: Bool[Tensor, "b *_"]
    inputs: Int[Tensor, "b t"]
    targets: Int[Tensor, "b t"]
    target_mask: Bool[Tensor, "b t"]
    references: Sequence[Sequence[Sequence[int]]] = ()

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on a device; copied while the host goes on, if its memory is pinned.

        Args:
            device: where the model is.
        """
        names = ("source", "source_mask", "inputs", "targets", "target_mask")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in names})


def plan_batches(source: Rows, target: Rows, *, budget: int, seed: int, epoch: int) -> list[Rows]:
    """Divide the pairs of one epoch into batches by their lengths.

    A batch of n pairs is padded to its longest source and target; n times the longer of the two stays within the budget
    (a single pair may exceed it). The plan follows from the arguments alone, so a training resumes from its seed, its
    epoch and a position in this list.

    Args:
        source: the length of each source in positions, `[n]`.
        target: the length of each target in ids, the end mark included, `[n]`.
        budget: the largest number of positions of a batch on its longer side, padding included.
        seed: the seed of the order.
        epoch: the number of the epoch, from 0; each has an order of its own.

    Returns:
        The rows of each batch, in the order of training; each row is in one batch.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(source))
    plans = [_plan(shuffled, source, target, ratio, budget) for ratio in RATIOS]
    batches = min(plans, key=lambda plan: max(measure_padding(plan, source), measure_padding(plan, target)))
    return [batches[number] for number in random.permutation(len(batches))]


def measure_padding(batches: Sequence[Rows], lengths: Rows) -> float:
    """Return the share of the positions of all batches that is padding, from 0 to below 1.

    Args:
        batches: the rows of each batch.
        lengths: the length of each row on one side, `[n]`.
    """
    computed = sum(len(rows) * int(lengths[rows].max()) for rows in batches)
    return 1 - int(lengths[np.concatenate(batches)].sum()) / computed


def collate(store: Store, rows: Rows, *, referring: bool = False) -> Batch:
    """Make one padded batch.

    Args:
        store: the prepared pairs.
        rows: the rows of the batch in the store, `[b]`.
        referring: whether the batch holds all targets that its sources have in the store as `references`.
    """
    source, source_mask = store.source.gather(rows.tolist())
    targets, target_mask = pad([store.target[row] for row in rows.tolist()])
    references = [store.references(row) for row in rows.tolist()] if referring else ()
    return Batch(source, source_mask, _delay(targets, target_mask), targets, target_mask, references)


def turn(batch: Batch) -> Batch:
    """Swap sources and targets of a batch of texts, for training from target to source.

    Args:
        batch: a batch whose two sides have the same vocabulary.
    """
    inputs = _delay(batch.source, batch.source_mask)
    return Batch(batch.targets, batch.target_mask, inputs, batch.source, batch.source_mask)


def group_by_length(lengths: Rows, *, budget: int, workers: int = 1) -> list[Rows]:
    """Divide sources into batches for prediction, the longest first, so that memory runs out at once or never.

    A batch holds neighbours in length. If there are few batches, they are divided again so that each worker gets as
    many as the others, with about as many positions.

    Args:
        lengths: the length of each source in positions, `[n]`, with n at least 1.
        budget: the largest number of positions of a batch, padding included; a single source may exceed it.
        workers: the number of processes that share the batches.

    Returns:
        The rows of each batch; each row is in one batch.
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
    """Return the targets one position later, with the start mark first."""
    inputs = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], dim=1)
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
    """Return where to divide an order so that each batch is within the budget, best where the source length changes."""
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
