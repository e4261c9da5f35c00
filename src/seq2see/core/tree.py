"""State trees: tensors inside tuples and dataclasses, with the batch in dimension 0 of every tensor.

The same functions reorder the state of every decoder, so that a search cannot forget a cache. A number that is the same
for all rows, such as how many steps were taken, is an int: an accelerator would have to be asked for it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jaxtyping import Int
from torch import Tensor

T = TypeVar("T")
StateTree = Any  # a tensor, an int, None, or a tuple or dataclass of state trees: every decoder has its own


def map_tree(function: Callable[[Tensor], Tensor], tree: T) -> T:
    """Apply `function` to every tensor of a tree and build the same tree from the results.

    Args:
        function: from a tensor to a tensor.
        tree: a tensor, an int, None, or a tuple or dataclass of trees.
    """
    return cast(T, _map(function, tree))


def select(tree: T, rows: Int[Tensor, " n"]) -> T:
    """Take the given rows of every tensor, in that order: how a beam reorders its hypotheses.

    Args:
        tree: a tensor, an int, None, or a tuple or dataclass of trees.
        rows: indices along dimension 0, [n]; one may occur several times.
    """
    return map_tree(lambda tensor: tensor.index_select(0, rows), tree)


def expand(tree: T, copies: int) -> T:
    """Repeat every row, copies side by side: one row a source becomes one row a hypothesis.

    Args:
        tree: a tensor, an int, None, or a tuple or dataclass of trees.
        copies: how often each row occurs in the result.
    """
    return map_tree(lambda tensor: tensor.repeat_interleave(copies, dim=0), tree)


def _map(function: Callable[[Tensor], Tensor], tree: object) -> object:
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, tuple):
        branches = [_map(function, branch) for branch in tree]
        return getattr(tree, "_make", tuple)(branches)  # a named tuple keeps its names
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree)]
        return dataclasses.replace(tree, **{name: _map(function, getattr(tree, name)) for name in names})
    if tree is None or isinstance(tree, int):
        return tree
    raise TypeError(f"a state tree holds tensors, tuples, dataclasses, ints and None; got {type(tree).__name__}")
