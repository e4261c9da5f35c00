"""The losses of a classifier, in NumPy and by hand, and which of them a configuration asks for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import configure_planted
from torch import Tensor, nn

from seq2see.data.batch import Batch
from seq2see.data.modalities.label_set import Labels
from seq2see.models.classifier import Classifier
from seq2see.objectives.build import build_label_objective
from seq2see.objectives.label_cross_entropy import BinaryCrossEntropy, LabelCrossEntropy, mark_labels

LOGITS = np.array([[0.3, -1.2, 2.0], [1.5, 0.1, -0.4], [-0.7, 0.2, 0.9], [0.0, 0.5, -2.0]])
COUNTS = [2.0, 0.5, 1.25]


class Fixed(Classifier):
    """A classifier that gives the same logits whatever it reads."""

    def __init__(self) -> None:
        nn.Module.__init__(self)  # it has neither encoder nor pool
        self.logits = nn.Parameter(torch.tensor(LOGITS, dtype=torch.float32))

    def forward(self, source: Tensor, mask: Tensor) -> Tensor:
        return self.logits


def batch_of(labels: list[list[int]]) -> Batch:
    width = max(map(len, labels))
    targets = torch.tensor([row + [0] * (width - len(row)) for row in labels])
    mask = torch.tensor([[True] * len(row) + [False] * (width - len(row)) for row in labels])
    return Batch(torch.zeros(len(labels), 1), torch.ones(len(labels), 1, dtype=torch.bool), targets, targets, mask)


@pytest.mark.parametrize("smoothing", [0.0, 0.15])
@pytest.mark.parametrize("weights", [None, COUNTS])
def test_one_label_is_a_softmax(smoothing: float, weights: Any) -> None:
    model = Fixed()
    labels, counts = [2, 0, 0, 1], np.ones(3) if weights is None else np.array(weights)
    logprobs = LOGITS - np.log(np.exp(LOGITS).sum(axis=1, keepdims=True))
    truth = np.eye(3)[labels]
    wanted = (1 - smoothing) * truth + smoothing / 3
    objective = LabelCrossEntropy(smoothing=smoothing, class_weights=weights)
    found = objective(model, batch_of([[label] for label in labels]), 1)
    assert found.total.item() == pytest.approx(-(counts * wanted * logprobs).sum(), rel=1e-5)
    assert found.nll.item() == pytest.approx(-(truth * logprobs).sum(), rel=1e-5)
    assert found.tokens == 4


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weights", [None, COUNTS])
def test_several_labels_are_as_many_questions(smoothing: float, weights: Any) -> None:
    """e / 2 for each no, 1 - e / 2 for each yes, which counts with its weight."""
    model = Fixed()
    batch = batch_of([[2, 0], [1], [0, 1, 2], [2]])
    truth, counts = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]]), 1 if weights is None else np.array(weights)
    assert mark_labels(batch.targets, batch.target_mask, 3).tolist() == truth.tolist()
    p = 1 / (1 + np.exp(-LOGITS))
    wanted = truth * (1 - smoothing) + smoothing / 2
    loss = BinaryCrossEntropy(smoothing=smoothing, class_weights=weights)(model, batch, 1)
    assert loss.total.item() == pytest.approx(
        -(counts * wanted * np.log(p) + (1 - wanted) * np.log(1 - p)).sum(), rel=1e-5
    )
    assert loss.nll.item() == pytest.approx(-(truth * np.log(p) + (1 - truth) * np.log(1 - p)).sum(), rel=1e-5)
    assert loss.tokens == 4


def test_a_configuration_chooses_the_loss_by_its_labels(tmp_path: Path) -> None:
    """By hand: of three sources two are good; of several labels each counts by the sources that are without it."""
    train = configure_planted(tmp_path / "none", class_weights="balanced", label_smoothing=0.1).train
    one = build_label_objective(train, Labels().learn(["good", "bad", "good"]))
    assert isinstance(one, LabelCrossEntropy)
    assert one.class_weights is not None
    assert (one.smoothing, one.class_weights.tolist()) == (0.1, [1.5, 0.75])
    many = build_label_objective(train, Labels(separator="|").learn(["good|wet", "bad", "wet"]))
    assert isinstance(many, BinaryCrossEntropy)
    assert many.class_weights is not None
    assert many.class_weights.tolist() == [2.0, 2.0, 0.5]
    plain = build_label_objective(configure_planted(tmp_path / "none").train, Labels().learn(["good", "bad"]))
    assert isinstance(plain, LabelCrossEntropy)
    assert plain.class_weights is None
    assert not plain.needs_references(1)
