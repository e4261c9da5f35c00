"""Microbatches: gradients that have the same bits however many processes compute them.

Each batch is cut into a fixed number of microbatches. Each of them has its own random numbers and its own gradient, and
the gradients are added in pairs, in a tree that depends on their number alone: ((0 + 1) + (2 + 3)) + ... So any number
of processes that is a power of two, and no more than there are microbatches, makes the same updates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.data.batch import Batch
from seq2see.models.network import Network
from seq2see.training.gradient_sums import (
    flatten_gradients,
    give_buffers,
    give_gradients,
    moving_buffers,
    weigh_buffers,
)
from seq2see.training.learner import Learner, Sums
from seq2see.training.process_group import ProcessGroup


def check_microbatches(microbatches: int, workers: int) -> None:
    """Refuse numbers of microbatches and processes that have no common tree of sums.

    Args:
        microbatches: option train.microbatches; 0 is none.
        workers: how many processes there are.

    Raises:
        ConfigError: one of them is no power of two, or there are more processes than microbatches.
    """
    if not microbatches:
        return
    if microbatches & (microbatches - 1):
        raise ConfigError(f"train.microbatches must be a power of two; got {microbatches}.")
    if workers & (workers - 1) or workers > microbatches:
        raise ConfigError(
            f"with train.microbatches={microbatches}, the number of processes must be a power of two, and at most "
            f"{microbatches}; got {workers}."
        )


def list_microbatches(microbatches: int, rank: int, workers: int) -> range:
    """Return the numbers of the microbatches of a process: neighbours, so that they are a branch of the tree.

    Args:
        microbatches: how many there are.
        rank: the rank of the process.
        workers: how many processes there are.
    """
    count = microbatches // workers
    return range(rank * count, (rank + 1) * count)


@dataclass(frozen=True)
class PartialSum:
    """A node of the tree: the sum over some neighbouring microbatches.

    Args:
        height: its height in the tree; a microbatch has 0.
        gradients: the summed gradients, `[n]`.
        facts: loss, tokens, whether each parameter has a gradient, and buffers weighed by tokens, in double precision.
    """

    height: int
    gradients: Tensor
    facts: Tensor

    def join(self, right: "PartialSum") -> "PartialSum":
        """Return the node above this one and its right neighbour, in the memory of this one.

        Args:
            right: the node of the same height that comes after this one.
        """
        return PartialSum(self.height + 1, self.gradients.add_(right.gradients), self.facts.add_(right.facts))


def accumulate_microbatches(
    learner: Learner[Network],
    update: int,
    numbers: range,
    cut: Callable[[int], Sequence[Batch | None]],
    group: ProcessGroup | None,
) -> Sums:
    """Give the parameters the gradients of an update, summed over all microbatches in the fixed tree.

    Args:
        learner: the model of this process.
        update: the number of the update, from 1.
        numbers: the microbatches of this process.
        cut: returns a microbatch: its part of each batch of the update; None where it has nothing of a batch.
        group: the process group; None for a process that computes all of them.

    Returns:
        The sums over all microbatches.
    """
    parameters = [parameter for parameter in learner.model.parameters() if parameter.requires_grad]
    buffers = moving_buffers(learner.model)
    before = [buffer.clone() for buffer in buffers]
    nodes: list[PartialSum] = []
    for number in numbers:
        for buffer, start in zip(buffers, before, strict=True):
            buffer.copy_(start)
        sums = learner.accumulate_gradients(update, cut(number), rank=number)
        nodes.append(PartialSum(0, flatten_gradients(parameters), _collect(sums, parameters, buffers, number)))
        learner.optimizer.zero_grad()
        while len(nodes) > 1 and nodes[-1].height == nodes[-2].height:
            right = nodes.pop()
            nodes.append(nodes.pop().join(right))
    (root,) = nodes
    if group is not None:
        group.sum_tree(root.gradients)
        group.sum_tree(root.facts)
    loss, tokens, *has_gradient = root.facts[: 2 + len(parameters)].tolist()
    give_gradients(parameters, root.gradients)
    for parameter, count in zip(parameters, has_gradient, strict=True):
        if not count:
            parameter.grad = None
    give_buffers(buffers, root.facts[2 + len(parameters) :])
    return Sums(loss, int(tokens))


def _collect(sums: Sums, parameters: Sequence[nn.Parameter], buffers: Sequence[Tensor], number: int) -> Tensor:
    """Return all of a microbatch but its gradients as one vector."""
    facts = [sums.loss, sums.tokens, *(float(parameter.grad is not None) for parameter in parameters)]
    weighed = weigh_buffers(buffers, sums.tokens, first=number == 0)
    return torch.cat([torch.tensor(facts, dtype=torch.double), weighed])
