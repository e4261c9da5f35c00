"""Occlusion agreement: a classifier of images learns to attend to the regions that its label needs."""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
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
RANKED = 8  # one of so many images is ranked: k regions of one image make k (k - 1) / 2 pairs for k occlusions
MAX_RANKED_REGIONS = 16  # of an image that are ranked; of more, as many are drawn


class OcclusionAgreement:
    """Adds a term that ranks the regions of some images by attention as occlusion ranks them.

    Of an eighth of the images, up to 16 regions are occluded in turn. d_i is the drop of the log-probability of the
    true label without region i and its surroundings, and a_i is the attention that the region gets. With D = d_i - d_j
    and m, the median of |D| over all pairs of regions of an image, the term is for each image of the batch the mean of

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
        grid = choose_regions((side, side), batch.source.shape[3])
        occluders = list_occluders(grid)
        ranked = torch.randperm(len(weights))[: math.ceil(len(weights) / RANKED)].to(weights.device)
        regions = torch.stack([torch.randperm(len(occluders))[:MAX_RANKED_REGIONS] for _ in range(len(ranked))])
        boxes = [[occluders[place] for place in row] for row in regions.tolist()]
        drops = self._measure_drops(model, batch, ranked, boxes)
        inside = torch.from_numpy(find_cells(list_cells(grid), (side, side))).to(weights)
        shares = (weights[ranked] @ inside.T).gather(1, regions.to(weights.device))
        term = self.weight * len(weights) * rank_regions(shares, drops)
        return Loss(loss.total + term, loss.nll, loss.tokens)

    @torch.no_grad()
    def _measure_drops(
        self, model: Classifier, batch: Batch, rows: Int[Tensor, " n"], occluders: Sequence[Sequence[Box]]
    ) -> Float[Tensor, "n r"]:
        """Return the drops up to a constant for each image: minus the log-probability without each of its regions."""
        occluded = _occlude(batch, rows, occluders)
        training = model.training
        model.eval()
        try:
            logits = model(occluded.source, occluded.source_mask)
        finally:
            model.train(training)
        return -self.base.log_likelihood(logits, occluded).view(len(rows), -1)


def rank_regions(shares: Float[Tensor, "n r"], drops: Float[Tensor, "n r"]) -> Float[Tensor, ""]:
    """Return the pairwise logistic loss of all pairs of regions of each image, averaged over the images.

    Args:
        shares: the attention that the regions got, with gradients.
        drops: how much the label needs them.
    """
    first, second = torch.triu_indices(drops.shape[1], drops.shape[1], 1, device=drops.device)
    apart = drops[:, first] - drops[:, second]
    logs = shares.clamp(min=1e-6).log()
    size = apart.abs()
    certainty = size / (size + size.median(dim=1, keepdim=True).values + 1e-12)
    return (certainty * F.softplus(-apart.sign() * (logs[:, first] - logs[:, second]))).mean()


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


def _occlude(batch: Batch, rows: Int[Tensor, " n"], occluders: Sequence[Sequence[Box]]) -> Batch:
    """Some images of a batch, each once with every of its occluders."""
    pairs = [(row, box) for row, boxes in zip(rows.tolist(), occluders, strict=True) for box in boxes]
    each = torch.tensor([row for row, _ in pairs], device=rows.device)
    images = torch.stack([occlude(batch.source[row], box) for row, box in pairs])
    return Batch(images, batch.source_mask[each], batch.inputs[each], batch.targets[each], batch.target_mask[each])


def _need_images() -> ConfigError:
    return ConfigError(
        "train.occlusion_agreement needs images that the encoder reads as pixels, and model.pool: attention; leave it "
        "out.",
        path=("train", "occlusion_agreement"),
    )
