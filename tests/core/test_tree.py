"""State trees: one walk reorders every tensor, wherever it is kept."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from seq2see.core.tree import expand, map_tree, select


@dataclass(frozen=True)
class Leafy:
    """A dataclass with a tree inside."""

    tensor: Tensor
    inner: tuple[Any, ...] = ()
    nothing: None = None


class Named(NamedTuple):
    """A tuple whose fields have names."""

    hidden: Tensor
    cell: Tensor


def make(rows: list[int]) -> Leafy:
    column = torch.tensor(rows)
    return Leafy(column, (column.unsqueeze(1) * 10, Leafy(-column), (), Named(column, column + 0.5)))


def test_select_takes_rows_of_every_tensor() -> None:
    chosen = select(make([0, 1, 2]), torch.tensor([2, 2, 0, 1]))
    expected = make([2, 2, 0, 1])
    assert torch.equal(chosen.tensor, expected.tensor)
    assert torch.equal(chosen.inner[0], expected.inner[0])
    assert torch.equal(chosen.inner[1].tensor, expected.inner[1].tensor)
    assert chosen.inner[2] == ()
    assert isinstance(chosen.inner[3], Named)
    assert torch.equal(chosen.inner[3].cell, expected.inner[3].cell)
    assert chosen.nothing is None


def test_expand_repeats_rows_side_by_side() -> None:
    assert expand(make([0, 1]), 3).tensor.tolist() == [0, 0, 0, 1, 1, 1]


def test_the_tree_itself_is_left_as_it_was() -> None:
    tree = make([0, 1])
    map_tree(lambda tensor: tensor + 1, tree)
    assert tree.tensor.tolist() == [0, 1]


@pytest.mark.parametrize("leaf", [[torch.zeros(1)], {"a": torch.zeros(1)}, 3.5])
def test_what_cannot_be_reordered_is_refused(leaf: Any) -> None:
    with pytest.raises(TypeError, match="a state tree holds tensors"):
        map_tree(lambda tensor: tensor, (leaf,))
