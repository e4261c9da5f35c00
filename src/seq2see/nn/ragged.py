"""Recurrent cells over rows of very different lengths, without computing one position of padding.

Rows are ordered by length and read step by step; a step computes only the rows that are not at their end. Padding to
the longest sentence would more than double the work of a document's words.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.nn.cell import Cell, CellState, Direction


@dataclass(frozen=True)
class Steps:
    """Lists the real positions p of a padded batch in the order of reading: all first ones, all second ones, ...

    Args:
        shape: the number of rows b and of columns s of the batch, padding included.
        order: the indices of the rows, longest row first, [b].
        sizes: how many rows each step computes; steps without any row are left out.
        forward: the index of each real position in the flattened batch, in the order of reading, [p].
        backward: the same, with every row read from its last position to its first, [p].
    """

    shape: tuple[int, int]
    order: Int[Tensor, " b"]
    sizes: tuple[int, ...]
    forward: Int[Tensor, " p"]
    backward: Int[Tensor, " p"]

    @property
    def across(self) -> Int[Tensor, " p"]:
        """Return the indices that put what is in forward order into backward order."""
        rank = self.forward.new_empty(self.shape[0] * self.shape[1])
        rank[self.forward] = torch.arange(len(self.forward), device=rank.device)
        return rank[self.backward]


def list_steps(mask: Bool[Tensor, "b s"]) -> Steps:
    """List the steps of a batch.

    Args:
        mask: True at real positions, which come before the padding, [b s]; a row may have none.
    """
    lengths, order = mask.sum(dim=1).sort(descending=True, stable=True)
    columns = torch.arange(mask.shape[1], device=mask.device).unsqueeze(1)
    alive = columns < lengths  # [s b], so that what is taken from it comes step by step
    starts = order * mask.shape[1]
    sizes = tuple(size for size in alive.sum(dim=1).tolist() if size)
    forward, backward = (starts + columns)[alive], (starts + lengths - 1 - columns)[alive]
    return Steps((mask.shape[0], mask.shape[1]), order, sizes, forward, backward)


def read_ragged(
    cell: Cell, inputs: Float[Tensor, "p i"], steps: Steps, direction: Direction
) -> tuple[Float[Tensor, "b s d"], CellState]:
    """Run a cell over the real positions of a padded batch.

    It computes the same as `read_sequence`, which is faster for rows of nearly one length.

    Args:
        cell: the cell to run, from a state of zeros.
        inputs: the input of each real position, in the order `steps.forward`, [p i].
        steps: what `list_steps` returned.
        direction: `backward` reads each row from its last position to its first.

    Returns:
        The hidden states at their positions, with zeros in the padding, [b s d], and the state after the last real
        position of each row.
    """
    inputs = inputs if direction == "forward" else inputs[steps.across]
    state = cell.zeros(inputs.new_empty(steps.shape[0], 0))
    outputs, ended = [], []
    for projected in cell.project(inputs).split(steps.sizes) if steps.sizes else ():
        alive = len(projected)
        if alive < len(state[0]):
            ended.append(tuple(part[alive:] for part in state))
            state = tuple(part[:alive] for part in state)
        state = cell.advance(projected, state)
        outputs.append(state[0])
    lasts = [torch.cat(parts) for parts in zip(state, *reversed(ended), strict=True)]
    places = steps.forward if direction == "forward" else steps.backward
    read = torch.cat(outputs) if outputs else inputs.new_zeros(0, cell.size)
    states = read.new_zeros(steps.shape[0] * steps.shape[1], cell.size).index_copy(0, places, read)
    # back from the order of lengths to that of the batch
    return states.view(*steps.shape, cell.size), tuple(part[steps.order.argsort()] for part in lasts)
