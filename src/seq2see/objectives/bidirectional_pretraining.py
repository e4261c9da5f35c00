"""Bidirectional pre-training: a model first learns both directions, from source to target and back."""

from seq2see.data.batch import Batch, turn
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.objective import Loss, Objective


class BidirectionalPretraining:
    """Ding, Wu & Tao 2021 (arXiv:2109.07780): every other one of the first updates learns from target to source.

    Args:
        forward: the objective from source to target.
        backward: the objective of the updates whose batches are turned round; both sides have one vocabulary.
        share: of the updates of a training, the first ones.
        updates: of the training.
    """

    def __init__(
        self, *, forward: Objective[Seq2Seq], backward: Objective[Seq2Seq], share: float, updates: int
    ) -> None:
        self.forward, self.backward, self.share, self.updates = forward, backward, share, updates

    def turns(self, step: int) -> bool:
        """Whether an update learns from target to source."""
        return step > 0 and step % 2 == 0 and step <= self.share * self.updates

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        """The loss of a batch in the direction of its update."""
        return self.backward(model, turn(batch), step) if self.turns(step) else self.forward(model, batch, step)

    def needs_references(self, step: int) -> bool:
        """Whether the objective of an update needs all targets of the sources; those of turned batches are unknown."""
        return not self.turns(step) and self.forward.needs_references(step)
