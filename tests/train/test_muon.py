"""Muon: orthogonal steps for matrices, Adam's for the rest."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import configure_planted
from torch import nn, optim

from seq2see.config.load import load_config
from seq2see.data.pairs import Pairs
from seq2see.models.network import Network
from seq2see.tasks.classification import Classification
from seq2see.tasks.transduction import Transduction
from seq2see.training.muon import find_matrices, move_matrices, orthogonalise


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


class Mixed(Network):
    """A model with parameters of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.map = nn.Embedding(5, 3), nn.LayerNorm(3), nn.Linear(3, 6)
        self.cell, self.last = nn.GRU(3, 4), nn.Linear(6, 5)

    @property
    def output_layer(self) -> nn.Linear:
        return self.last


def test_only_linear_maps_and_cells_are_matrices() -> None:
    model = Mixed()
    assert [id(each) for each in find_matrices(model)] == [
        id(each) for each in (model.map.weight, model.cell.weight_ih_l0, model.cell.weight_hh_l0)
    ]


@pytest.mark.parametrize("preset", ["bahdanau2015", "transformer-tiny"])
def test_the_output_layer_of_a_text_model_is_moved_by_adam(preset: str) -> None:
    tokens = {"joint": "characters"}
    config = load_config(base={"preset": preset, "data": {"train": "x"}, "tokens": tokens}).config
    model = Transduction.learn(config, Pairs(["ab", "bc"] * 9, ["ba", "cb"] * 9)).build(config)
    matrices = find_matrices(model)
    assert len(matrices) > 3
    assert all(each is not model.decoder.output.weight for each in matrices)


def test_the_layer_of_classes_is_moved_by_adam(tmp_path: Path) -> None:
    config = configure_planted(tmp_path / "none")
    model = Classification.learn(config, Pairs(["a b", "b c"], ["good", "bad"])).build(config)
    assert all(each is not model.output.weight for each in find_matrices(model))


@pytest.mark.parametrize("large", [3, 4])
def test_a_step_by_hand(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two projections on top of each other are two matrices; what is no matrix moves as with Adam."""
    monkeypatch.setattr("seq2see.training.muon.LARGE", large)  # one after another, or together
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


def move_by_hand(matrix: Any, direction: Any, rate: float) -> Any:
    """Jordan et al. 2024 for one block: five rounds of the quintic, as long as a step of Adam (Liu et al. 2025)."""
    x = direction.T if direction.shape[0] > direction.shape[1] else direction
    x = x / np.sqrt((x**2).sum())
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x - 4.775 * square @ x + 2.0315 * square @ square @ x
    x = x.T if direction.shape[0] > direction.shape[1] else x
    return matrix - rate * 0.2 * math.sqrt(max(direction.shape)) * x


@pytest.mark.parametrize("large", [2, 256])
def test_several_steps_are_nesterovs_momentum_and_decay(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices that are wide, tall, and three squares on top of each other, as the gates of a cell."""
    monkeypatch.setattr("seq2see.training.muon.LARGE", large)
    torch.manual_seed(1)
    layers = [nn.Linear(5, 3), nn.Linear(3, 5), nn.Linear(3, 9), nn.Linear(3, 5)]
    weights = [layer.weight for layer in layers]
    optimizer = optim.AdamW(weights, lr=1.0, weight_decay=0.25)
    move_matrices(optimizer, weights)
    expected = [each.detach().double().numpy().copy() for each in weights]
    momenta = [np.zeros_like(each) for each in expected]
    for rate in (0.1, 0.3, 0.02, 0.2):
        optimizer.param_groups[0]["lr"] = rate
        for number, weight in enumerate(weights):
            weight.grad = torch.randn_like(weight)
            gradient = weight.grad.double().numpy().copy()
            momenta[number] = 0.95 * momenta[number] + gradient
            ahead, decayed = gradient + 0.95 * momenta[number], (1 - rate * 0.25) * expected[number]
            blocks = 3 if weight.shape == (9, 3) else 1
            pairs = zip(np.split(decayed, blocks), np.split(ahead, blocks), strict=True)
            expected[number] = np.concatenate([move_by_hand(*pair, rate) for pair in pairs])
        optimizer.step()
        for weight, wanted in zip(weights, expected, strict=True):
            np.testing.assert_allclose(weight.detach().numpy(), wanted, rtol=1e-4, atol=1e-4)
