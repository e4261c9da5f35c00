"""Occlusion agreement: a classifier of images learns to attend to the regions that its label needs."""

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from seq2see.core.box import Box
from seq2see.core.errors import AttentionError, ConfigError
from seq2see.core.trace import Trace, tracing
from seq2see.data.batch import Batch
from seq2see.data.modalities.image_cells import choose_regions, find_cells, list_cells, list_occluders
from seq2see.data.modalities.occluded_image import occlude
from seq2see.models.classifier import Classifier
from seq2see.objectives.label_cross_entropy import LabelObjective
from seq2see.objectives.objective import Loss

POOL = "pool.attend"  # the attention that a classifier reads its label with
REST = 0.2  # share of the updates before the term begins, because an untrained model needs no region


class OcclusionAgreement:
    """Adds a term that ranks two regions of each image by attention as occlusion ranks them.

    Of each image two regions i and j are occluded in turn. d is the drop of the log-probability of the true label
    without a region and its surroundings, and a is the attention that the region gets. With D = d_i - d_j and m, the
    median of |D| over the batch, the term is

    weight * |D| / (|D| + m) * log(1 + exp(-sign(D) (log a_i - log a_j))).

    This is the pairwise logistic loss of learning to rank (Burges et al. 2005, doi:10.1145/1102351.1102363), in which
    pairs that are hardly apart count less. The drops have no gradient, so attention learns to agree with them, and not
    they with attention. Without such a term attention often does not show what a model needs (Jain & Wallace 2019).

    Args:
        base: the loss of the labels, to which the term is added.
        weight: the factor of the term.
        updates: the updates of the whole training; the term begins after a fifth of them.
    """

    name: ClassVar[str] = "occlusion_agreement"

    def __init__(self, *, base: LabelObjective, weight: float, updates: int) -> None:
        self.base, self.weight, self.start = base, weight, int(REST * updates)

    def needs_references(self, step: int) -> bool:
        """Return False: a batch of a classifier has all labels of its sources.

        Args:
            step: the number of the update; it has no effect.
        """
        return self.base.needs_references(step)

    def __call__(self, model: Classifier, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch, from the start of the term on with the term.

        Args:
            model: the classifier.
            batch: images as pixels, with their labels.
            step: the number of the update, from 1.

        Raises:
            ConfigError: if the sources are no pixels, or no pool weighs the cells of an image.
        """
        if step <= self.start:
            return self.base(model, batch, step)
        if batch.source.dtype != torch.uint8 or batch.source.dim() != 4:
            raise _need_images()
        try:
            with tracing(model) as trace:
                loss = self.base(model, batch, step)
        except AttentionError as error:
            raise _need_images() from error
        weights = read_pool(trace)
        side = math.isqrt(weights.shape[1])
        regions = choose_regions((side, side), batch.source.shape[3])
        pairs = torch.stack([torch.randperm(math.prod(regions))[:2] for _ in range(len(weights))])
        drops = self._measure_drops(model, batch, list_occluders(regions), pairs)
        inside = torch.from_numpy(find_cells(list_cells(regions), (side, side))).to(weights)
        shares = (weights @ inside.T).gather(1, pairs.to(weights.device))
        term = self.weight * rank_pairs(shares, drops)
        return Loss(loss.total + term, loss.nll, loss.tokens)

    @torch.no_grad()
    def _measure_drops(
        self, model: Classifier, batch: Batch, occluders: list[Box], pairs: Int[Tensor, "b 2"]
    ) -> Float[Tensor, "b 2"]:
        """Return the drops up to a constant for each image: minus the log-probability without each of two regions."""
        training = model.training
        model.eval()
        try:
            return torch.stack(
                [-self._score(model, batch, _cover(batch.source, occluders, each)) for each in pairs.T], 1
            )
        finally:
            model.train(training)

    def _score(self, model: Classifier, batch: Batch, source: UInt8[Tensor, "b 3 y x"]) -> Float[Tensor, " b"]:
        return self.base.log_likelihood(model(source, batch.source_mask), batch)


def rank_pairs(shares: Float[Tensor, "b 2"], drops: Float[Tensor, "b 2"]) -> Float[Tensor, ""]:
    """Return the pairwise logistic loss of two regions of each image, summed over the images.

    Args:
        shares: the attention that the regions got, with gradients.
        drops: how much the label needs them.
    """
    apart = drops[:, 0] - drops[:, 1]
    logs = shares.clamp(min=1e-6).log()
    size = apart.abs()
    certainty = size / (size + size.median() + 1e-12)
    return (certainty * F.softplus(-apart.sign() * (logs[:, 0] - logs[:, 1]))).sum()


def read_pool(trace: Trace) -> Float[Tensor, "b s"]:
    """Return the weights with which the pool of a classifier read the cells of each image.

    Args:
        trace: the attention of a forward pass.

    Raises:
        ConfigError: if the pool weighs nothing.
    """
    if POOL not in trace.names:
        raise _need_images()
    return trace.weights(POOL)[:, 0, 0]


def _cover(
    images: UInt8[Tensor, "b 3 y x"], occluders: list[Box], chosen: Int[Tensor, " b"]
) -> UInt8[Tensor, "b 3 y x"]:
    """Each image with one of the regions covered."""
    return torch.stack([occlude(image, occluders[place]) for image, place in zip(images, chosen.tolist(), strict=True)])


def _need_images() -> ConfigError:
    return ConfigError(
        "train.occlusion_agreement needs images that the encoder reads as pixels, and model.pool: attention; leave it "
        "out.",
        path=("train", "occlusion_agreement"),
    )
