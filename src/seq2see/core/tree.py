"""State trees: tensors inside tuples and frozen dataclasses, with the batch in dimension 0 of every tensor.

One generic walk serves every decoder, so a search cannot forget to reorder somebody's cache.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jaxtyping import Int
from torch import Tensor

T = TypeVar("T")


def map_tree(function: Callable[[Tensor], Tensor], tree: T) -> T:
    """Apply `function` to every tensor of a tree and build the same tree from the results."""
    return cast(T, _map(function, tree))


def select(tree: T, rows: Int[Tensor, " n"]) -> T:
    """Take the given rows of every tensor, in that order."""
    return map_tree(lambda tensor: tensor.index_select(0, rows), tree)


def expand(tree: T, copies: int) -> T:
    """Repeat every row `copies` times, neighbours together: one row a source becomes one row a hypothesis."""
    return map_tree(lambda tensor: tensor.repeat_interleave(copies, dim=0), tree)


def _map(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, tuple):
        branches = [_map(function, branch) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)  # a named tuple keeps its names
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree)]
        return dataclasses.replace(tree, **{name: _map(function, getattr(tree, name)) for name in names})
    if tree is None:
        return None
    raise TypeError(f"a state tree holds tensors, tuples, dataclasses and None; got {type(tree).__name__}")
