"""Calibration: what a temperature does to probabilities, and that the one that is found makes them more honest."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from planted import TINY, configure_planted

from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack
from seq2see.tasks.calibration import fit_temperature, make_probabilities, undo_temperature
from seq2see.tasks.classification import Classification

LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, -2.0]])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_logits_are_divided_by_the_temperature(temperature: float) -> None:
    """Guo et al. 2017, eq. 9; of labels that do not exclude each other, the logistic function of each."""
    powers = np.exp(LOGITS.numpy() / temperature)
    found = make_probabilities(LOGITS, temperature=temperature)
    np.testing.assert_allclose(found.numpy(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    each = make_probabilities(LOGITS, temperature=temperature, many=True)
    np.testing.assert_allclose(each.numpy(), powers / (1 + powers), rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_a_temperature_is_undone(temperature: float) -> None:
    probabilities = make_probabilities(LOGITS, temperature=temperature)[0].tolist()
    before = undo_temperature(dict(zip("abc", probabilities, strict=True)), temperature)
    assert before == pytest.approx((LOGITS[0].exp() / LOGITS[0].exp().sum()).max().item(), rel=1e-5)


@pytest.mark.parametrize("many", [False, True])
def test_no_other_temperature_makes_the_truth_likelier(many: bool) -> None:
    """Against all of a fine grid, with half a squared log of it as the belief that it is near 1."""
    torch.manual_seed(1)
    logits = torch.randn(30, 4) * 5
    truth = F.one_hot((logits + 6 * torch.randn(30, 4)).argmax(dim=1), 4).float()

    def cost(temperature: float) -> float:
        chances = make_probabilities(logits.double(), temperature=temperature, many=many)
        missed = torch.where(truth == 1, chances, 1 - chances) if many else (chances * truth).sum(dim=1)
        return -missed.log().sum().item() + np.log(temperature) ** 2 / 2

    found = fit_temperature(logits, truth, many=many)
    assert abs(np.log(found)) > 0.2
    assert cost(found) <= min(cost(t) for t in np.geomspace(0.05, 20, 400)) + 1e-6


def test_a_settled_task_gives_the_held_out_labels_more_probability(tmp_path: Path) -> None:
    """An untrained model that is much too sure, once the facts that go with its weights are recalled."""
    texts = [f"{a} {b}." for a in ("one", "two", "three", "four") for b in ("red", "green", "blue")]
    pairs = Pairs(texts, ["good" if number % 3 else "bad" for number in range(12)])
    config = configure_planted(tmp_path / "none", model={"encoder": {**TINY, "dropout": 0.5}})
    task = Classification.learn(config, pairs)
    model = task.build(config)
    with torch.no_grad():
        model.output.weight.mul_(30)
    store = Store(task.source.prepare(pairs.source), pack(task.target.ids(pairs.target)), "")
    facts = [task.calibrate(model.train(), store) for _ in range(2)]  # dropout is not asked
    assert facts[0] == facts[1]
    settled = task.with_saved_state(facts[0])
    rows = [task.target.names.index(name) for name in pairs.target]

    def cost(weighing: Classification) -> float:
        return F.nll_loss(weighing.weigh(model, texts).log(), torch.tensor(rows)).item()

    assert settled.temperature > 1.5
    assert cost(settled) < cost(task) - 0.1
    assert torch.equal(settled.weigh(model, texts).argmax(dim=1), task.weigh(model, texts).argmax(dim=1))
