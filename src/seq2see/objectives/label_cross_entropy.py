"""Label cross-entropy: the loss of a classifier."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.data.batch import Batch
from seq2see.models.classifier import Classifier
from seq2see.objectives.objective import Loss


class LabelObjective:
    """Is the base of both kinds of label cross-entropy, which follow no schedule and need no references.

    Args:
        smoothing: e, label smoothing; 0 for none.
        class_weights: w, one for each label; None is 1 for all.
    """

    def __init__(self, *, smoothing: float = 0.0, class_weights: Sequence[float] | None = None) -> None:
        self.smoothing = smoothing
        self.class_weights = None if class_weights is None else torch.tensor(class_weights)

    def weights_on(self, device: torch.device) -> Float[Tensor, " c"] | None:
        """Return the weight of each label on a device, [c]; None if all are 1.

        Args:
            device: where the logits are.
        """
        return None if self.class_weights is None else self.class_weights.to(device)

    def needs_references(self, step: int) -> bool:
        """Return False: a batch of a classifier has all labels of its sources.

        Args:
            step: the number of the update; it has no effect.
        """
        return False

    def __call__(self, model: Classifier, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch.

        Args:
            model: the classifier.
            batch: sources and their labels.
            step: the number of the update; it has no effect.
        """
        raise NotImplementedError

    def log_likelihood(self, logits: Float[Tensor, "b c"], batch: Batch) -> Float[Tensor, " b"]:
        """Return the log-probability of the true label of each source, or of all its labels and no others.

        Args:
            logits: the logits of every label.
            batch: the batch that they belong to.
        """
        raise NotImplementedError


class LabelCrossEntropy(LabelObjective):
    """Computes the cross-entropy of one label a source, summed over sources: - sum_k w_k q_k log p(k | source).

    q gives 1 - e to the label of the source and spreads e evenly over all labels (Szegedy et al. 2016,
    arXiv:1512.00567).
    """

    def __call__(self, model: Classifier, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch; `step` has no effect."""
        logits, labels = model(batch.source, batch.source_mask), batch.targets[:, 0]
        weights = self.weights_on(logits.device)
        total = F.cross_entropy(logits, labels, weights, label_smoothing=self.smoothing, reduction="sum")
        return Loss(total, F.cross_entropy(logits.detach(), labels, reduction="sum"), len(labels))

    def log_likelihood(self, logits: Float[Tensor, "b c"], batch: Batch) -> Float[Tensor, " b"]:
        return -F.cross_entropy(logits, batch.targets[:, 0], reduction="none")


class BinaryCrossEntropy(LabelObjective):
    """Computes the cross-entropy of each label against its absence, summed over sources, which may have several labels.

    - sum_k w_k q_k log p_k + (1 - q_k) log(1 - p_k), where q_k is 1 - e / 2 for a label of the source, else e / 2.
    """

    def __call__(self, model: Classifier, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch; `step` has no effect."""
        logits = model(batch.source, batch.source_mask)
        truth = mark_labels(batch.targets, batch.target_mask, logits.shape[1])
        smooth = truth * (1 - self.smoothing) + self.smoothing / 2
        total = F.binary_cross_entropy_with_logits(
            logits, smooth, pos_weight=self.weights_on(logits.device), reduction="sum"
        )
        nll = F.binary_cross_entropy_with_logits(logits.detach(), truth, reduction="sum")
        return Loss(total, nll, len(truth))

    def log_likelihood(self, logits: Float[Tensor, "b c"], batch: Batch) -> Float[Tensor, " b"]:
        truth = mark_labels(batch.targets, batch.target_mask, logits.shape[1])
        return -F.binary_cross_entropy_with_logits(logits, truth, reduction="none").sum(dim=1)


def mark_labels(targets: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"], labels: int) -> Float[Tensor, "b c"]:
    """Return a matrix with 1 at the labels of each source and 0 elsewhere.

    Args:
        targets: the numbers of the labels of each source, padded, [b t].
        mask: True at labels, False at padding, [b t].
        labels: how many labels c there are to choose from.
    """
    marked = torch.zeros(len(targets), labels + 1, device=targets.device)  # what is masked goes to the last column
    return marked.scatter_(1, targets.where(mask, labels), 1.0)[:, :labels]
