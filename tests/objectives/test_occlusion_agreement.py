"""Occlusion agreement: the loss by hand, which regions it ranks, and what it refuses."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2see.core.errors import ConfigError
from seq2see.core.registry import part
from seq2see.data.batch import Batch
from seq2see.data.modalities.image_cells import list_occluders
from seq2see.models.classifier import Classifier, build_classifier
from seq2see.objectives.label_cross_entropy import BinaryCrossEntropy, LabelCrossEntropy
from seq2see.objectives.occlusion_agreement import OcclusionAgreement, rank_regions

SIDE = 32
ENCODER = {"kind": "cnn", "backbone": "cells", "layer": 1, "size": 8, "position": "learned", "position_in": "values"}


def build(pool: str = "attention", **options: Any) -> Classifier:
    torch.manual_seed(3)
    encoder, reader = part("encoder", {**ENCODER, **options}), part("pool", pool)
    return build_classifier(encoder=encoder, pool=reader, source_sizes={"image_size": SIDE}, classes=3)


def batch_of(source: Tensor, labels: list[int]) -> Batch:
    targets, mask = torch.tensor(labels)[:, None], torch.ones(len(labels), 1, dtype=torch.bool)
    return Batch(source, mask, targets, targets, mask)


def draw_images(count: int) -> Tensor:
    torch.manual_seed(4)
    return torch.randint(0, 256, (count, 3, SIDE, SIDE), dtype=torch.uint8)


@pytest.mark.parametrize(
    ("shares", "drops", "loss"),
    [
        ([0.6, 0.2], [1.0, 0.0], 0.5 * math.log(1 + 0.2 / 0.6)),  # the needed region has more attention
        ([0.6, 0.2], [0.0, 1.0], 0.5 * math.log(1 + 0.6 / 0.2)),  # it has less
        ([0.6, 0.2], [0.3, 0.3], 0.0),  # nothing tells them apart
    ],
)
def test_a_pair_costs_what_its_order_deserves(shares: list[float], drops: list[float], loss: float) -> None:
    found = rank_regions(torch.tensor([shares]), torch.tensor([drops]))
    assert found.item() == pytest.approx(loss, abs=1e-6)


def test_pairs_that_are_hardly_apart_count_less() -> None:
    """Drops of 3, 2 and 0 differ by 1, 3 and 2; the median is 2, so the pairs count 1/3, 3/5 and 1/2."""
    shares = torch.tensor([[0.5, 0.25, 0.125]])
    found = rank_regions(shares, torch.tensor([[3.0, 2.0, 0.0]]))
    costs = [math.log(1 + 1 / 2) / 3, 3 * math.log(1 + 1 / 4) / 5, math.log(1 + 1 / 2) / 2]
    assert found.item() == pytest.approx(sum(costs) / 3, abs=1e-6)


def test_every_image_counts_alike_however_sure_its_label_is() -> None:
    """The drops of a sure label are small, and their order counts as much."""
    shares, drops = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.0, 2.0, 5.0]])
    found = rank_regions(shares.repeat(2, 1), torch.cat([drops, drops / 1000]))
    torch.testing.assert_close(found, rank_regions(shares, drops))


def test_the_region_that_a_label_needs_has_the_largest_drop() -> None:
    """A model that reads the brightness of the upper left corner alone needs the region there, and no other."""

    class Corner(Classifier):
        def forward(self, source: Tensor, mask: Tensor) -> Tensor:
            bright = source[:, 0, :4, :4].float().mean(dim=(1, 2)) / 25.5
            return torch.stack([bright, torch.full_like(bright, 5.0)], dim=1)

    model = Corner(encoder=torch.nn.Identity(), pool=torch.nn.Identity(), output=torch.nn.Linear(1, 2))
    images = torch.zeros(1, 3, SIDE, SIDE, dtype=torch.uint8)
    images[:, :, :4, :4] = 255
    objective = OcclusionAgreement(base=LabelCrossEntropy(), weight=1.0, updates=1)
    batch, occluders = batch_of(images.repeat(3, 1, 1, 1), [1, 1, 0]), list_occluders((4, 4))
    drops = objective._measure_drops(model, batch, torch.tensor([2]), [[occluders[0], occluders[15]]])
    # with the corner the label has the logit 10 beside 5, without it that of the mean colour (round(255 / 64) = 3)
    without = torch.tensor([3 / 25.5, 5.0]).log_softmax(dim=0)[0]
    torch.testing.assert_close(drops, -torch.stack([without, torch.tensor([10.0, 5.0]).log_softmax(dim=0)[0]])[None])


@pytest.mark.parametrize("base", [LabelCrossEntropy(smoothing=0.1), BinaryCrossEntropy()])
def test_the_term_begins_after_a_fifth_and_reaches_the_attention(base: Any) -> None:
    model, batch = build(), batch_of(draw_images(5), [0, 1, 2, 1, 0])
    objective = OcclusionAgreement(base=base, weight=2.0, updates=10)
    plain, before, after = base(model, batch, 1), objective(model, batch, 2), objective(model, batch, 3)
    assert torch.equal(plain.total, before.total)
    assert after.total > before.total
    torch.testing.assert_close((after.nll, after.tokens), (before.nll, before.tokens))
    assert model.training
    term = after.total - before.total
    parameters = [next(model.pool.attend.score.parameters()), model.output.weight]
    slopes = torch.autograd.grad(term, parameters)
    assert slopes[0].abs().sum() > 0
    assert slopes[1].abs().max() < 1e-5  # the drops have no gradient: a label does not change to suit its attention


def test_what_has_no_pixels_or_weighs_no_cells_is_refused() -> None:
    objective = OcclusionAgreement(base=LabelCrossEntropy(), weight=1.0, updates=1)
    with pytest.raises(ConfigError, match="pool: attention; leave it out"):
        objective(build(pool="mean"), batch_of(draw_images(2), [0, 1]), 1)
    with pytest.raises(ConfigError, match="images that the encoder reads as pixels"):
        objective(build(), batch_of(torch.zeros(2, 64, 8, 8), [0, 1]), 1)
