"""One step of learning, from the summed gradients of all batches and workers to the weights, by its equations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from reversal import SMALL, configure, start, write_reversals
from torch import Tensor, nn

from seq2see.data.batch import Batch, collate
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters
from seq2see.models.network import Network
from seq2see.objectives.objective import Loss
from seq2see.tasks.transduction import Transduction
from seq2see.training.events import Stepped
from seq2see.training.learner import Learner

STILL = {half: {**options, "dropout": 0.0} for half, options in SMALL.items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


class Line(nn.Linear, Network):
    """A model that is one linear layer."""


class Chain(Network):
    """A model of two linear layers, the second of which gives the output."""

    def __init__(self) -> None:
        super().__init__()
        self.map, self.output = nn.Linear(3, 5), nn.Linear(5, 4)

    @property
    def output_layer(self) -> nn.Linear:
        return self.output


def make(model: Network, **options: Any) -> Learner[Any]:
    """A learner of any model, to be given its gradients."""
    letters = Characters().learn(["ab"])
    return Learner(configure(Path("none"), **options), Transduction(TextModality(letters), letters), model)


def watch_gradients(learner: Learner[Any]) -> list[list[Tensor]]:
    """The gradients of all parameters as the optimizer gets them, step by step; other hooks have come before."""
    seen: list[list[Tensor]] = []
    learner.optimizer.register_step_pre_hook(
        lambda *_: seen.append([parameter.grad.clone() for parameter in learner.model.parameters()])
    )
    return seen


def differentiate(model: Any, batch: Batch, smoothing: float) -> list[Tensor]:
    """The gradient of the mean cross-entropy over all target tokens, by torch's own loss."""
    logits = model(batch.source, batch.source_mask, batch.inputs)[batch.target_mask]
    loss = F.cross_entropy(logits, batch.targets[batch.target_mask], label_smoothing=smoothing)
    return list(torch.autograd.grad(loss, list(model.parameters())))


def test_an_update_over_unequal_batches_has_the_mean_gradient_of_all_their_tokens(data: Path, tmp_path: Path) -> None:
    """An update that sees all pairs once, in three batches: it need not be known which are together."""
    options = {"batch_tokens": 160, "accumulate": 3, "clip_gradient": 0.0, "label_smoothing": 0.2, "weight_decay": 0.1}
    loop = start(configure(data, model=STILL, **options), tmp_path / "run").loop
    seen = watch_gradients(loop.learner)
    whole = collate(loop.store, np.arange(64))
    with torch.no_grad():
        loop.model.output_layer.weight.mul_(5)  # so that tokens differ in what they have to say
    expected = differentiate(loop.model, whole, 0.2)
    (stepped,) = [event for event in loop.run(lambda: True) if isinstance(event, Stepped)]
    assert (loop.state.epoch, loop.state.batch) == (1, 0)
    assert stepped.tokens == whole.target_mask.sum()
    torch.testing.assert_close(seen[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("clip", "norm"), [(0.5, 0.5), (2.0, 1.5), (0.0, 1.5), (5.9, 1.5)])
def test_the_mean_gradient_is_what_is_clipped(clip: float, norm: float) -> None:
    """Of four tokens, whose summed gradient is 2, 4, 4 and so 6 long."""
    model = Line(2, 1)
    learner = make(model, clip_gradient=clip)
    seen = watch_gradients(learner)
    model.weight.grad, model.bias.grad = torch.tensor([[2.0, -4.0]]), torch.tensor([4.0])
    assert learner.optimizer_step(0.1, 4)
    assert torch.cat([each.flatten() for each in seen[0]]).numpy() == pytest.approx(
        norm / 6 * np.array([2.0, -4.0, 4.0]), rel=1e-5
    )
    assert model.weight.grad is None


@pytest.mark.parametrize(("beta2", "decay"), [(0.999, 0.0), (0.7, 0.0), (0.999, 0.3), (0.9, 0.2)])
def test_steps_are_those_of_adam_with_decoupled_weight_decay(beta2: float, decay: float) -> None:
    """Loshchilov & Hutter 2019, algorithm 2, with the rate as the schedule's multiplier; the bias decays, too."""
    torch.manual_seed(1)
    model = Line(3, 2)
    learner = make(model, beta2=beta2, weight_decay=decay, clip_gradient=0.0, learning_rate=0.5)
    weights = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    first, second = ([np.zeros_like(each) for each in weights] for _ in range(2))
    draw = np.random.default_rng(1)
    for step, (rate, tokens) in enumerate([(0.1, 3), (0.02, 1), (0.3, 7), (0.05, 2)], 1):
        for number, parameter in enumerate(model.parameters()):
            summed = draw.normal(size=parameter.shape).astype(np.float32)
            parameter.grad = torch.from_numpy(summed.copy())
            gradient = summed.astype(np.float64) / tokens
            first[number] = 0.9 * first[number] + 0.1 * gradient
            second[number] = beta2 * second[number] + (1 - beta2) * gradient**2
            unbiased = first[number] / (1 - 0.9**step), second[number] / (1 - beta2**step)
            moved = unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8) + decay * weights[number]
            weights[number] = weights[number] - rate * moved
        learner.optimizer_step(rate, tokens)
        for parameter, expected in zip(model.parameters(), weights, strict=True):
            np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_muon_is_given_matrices_alone_and_decays_them_as_adam_does_the_rest() -> None:
    model = Chain()
    learner = make(model, optimizer="muon", weight_decay=0.5, clip_gradient=0.0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer_step(0.1, 2)
    for parameter, old in zip(model.parameters(), before, strict=True):  # where nothing pulls, weights only decay
        torch.testing.assert_close(parameter.detach(), 0.95 * old)
    assert sorted(name for name in learner.dump() if "momentum" in name) == ["optimizer.momentum.map.weight"]


def test_the_objective_is_asked_at_every_update_and_its_losses_are_summed(data: Path, tmp_path: Path) -> None:
    loop = start(configure(data, model=STILL), tmp_path / "run").loop
    seen, counted, objective = [], [], loop.learner.objective

    def watched(model: Any, batch: Batch, step: int) -> Loss:
        seen.append((model is loop.model, batch, step))
        return objective(model, batch, step)

    loop.learner.objective = watched  # type: ignore[assignment]
    batches = [collate(loop.store, np.arange(3)), None, collate(loop.store, np.arange(5, 9))]
    sums = loop.learner.accumulate_gradients(7, batches, after_batch=counted.append)
    assert seen == [(True, batches[0], 7), (True, batches[2], 7)]
    assert counted == [int(batches[0].target_mask.sum()), 0, int(batches[2].target_mask.sum())]
    assert sums.tokens == sum(counted)
    losses = [objective(loop.model, batch, 7).total.item() for batch in batches if batch is not None]
    assert sums.loss == pytest.approx(sum(losses))
