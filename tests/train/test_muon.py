"""Muon: orthogonal steps for matrices, Adam's for the rest."""

import math

import pytest
import torch
from torch import nn, optim

from seq2see.train.muon import find_matrices, move_matrices, orthogonalise


@pytest.mark.parametrize("shape", [(2, 7, 7), (3, 5, 11), (1, 11, 5)])
def test_all_singular_values_become_about_one(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(1)
    matrices = torch.randn(shape)
    found = orthogonalise(matrices)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    torch.testing.assert_close(found @ found.mT @ left, left @ (left.mT @ found @ found.mT @ left), atol=1e-3, rtol=0)
    assert ((torch.linalg.svdvals(found) > 0.3) | (values < 0.01 * values[:, :1])).all()
    assert (torch.linalg.svdvals(found) < 1.3).all()
    assert ((left.mT @ found @ right.mT).diagonal(dim1=1, dim2=2) > 0).all()  # the same directions, none turned round


def test_only_linear_maps_and_cells_are_matrices() -> None:
    model = nn.Module()
    model.embed, model.norm, model.map = nn.Embedding(5, 3), nn.LayerNorm(3), nn.Linear(3, 6)
    model.cell, model.output = nn.GRU(3, 4), nn.Linear(6, 5)
    assert [id(each) for each in find_matrices(model)] == [
        id(each) for each in (model.map.weight, model.cell.weight_ih_l0, model.cell.weight_hh_l0)
    ]


@pytest.mark.parametrize("large", [3, 4])
def test_a_step_by_hand(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two projections on top of each other are two matrices; what is no matrix moves as with Adam."""
    monkeypatch.setattr("seq2see.train.muon.LARGE", large)  # one after another, or together
    torch.manual_seed(1)
    layer, other = nn.Linear(3, 6), nn.Linear(3, 6)
    other.load_state_dict(layer.state_dict())
    optimizers = [optim.AdamW(each.parameters(), lr=0.1, weight_decay=0.0) for each in (layer, other)]
    move_matrices(optimizers[0], [layer.weight])
    before, gradient = layer.weight.detach().clone(), torch.randn(6, 3)
    for each, optimizer in zip((layer, other), optimizers, strict=True):
        each.weight.grad, each.bias.grad = gradient.clone(), torch.ones(6)
        optimizer.step()
    ahead = gradient * 1.95  # the gradient, and 0.95 of the momentum that it begins
    expected = [
        half - 0.1 * 0.2 * math.sqrt(3) * orthogonalise(way[None])[0]
        for half, way in zip(before.split(3), ahead.split(3), strict=True)
    ]
    torch.testing.assert_close(layer.weight.detach(), torch.cat(expected))
    assert torch.equal(layer.bias, other.bias)
    assert layer.weight.grad is None
