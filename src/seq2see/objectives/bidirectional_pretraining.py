"""Bidirectional pre-training: a model first learns both directions, from source to target and back."""

from seq2see.data.batch import Batch, turn
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.objective import Loss, Objective


class BidirectionalPretraining:
    """Learns from target to source at every other one of the first updates, and else from source to target.

    Ding, Wu & Tao 2021 (arXiv:2109.07780).

    Args:
        forward: the objective from source to target.
        backward: the objective from target to source; both sides must have one vocabulary.
        share: the share of the updates, from 0 to 1, in which directions alternate; they are the first ones.
        updates: all updates of the training.
    """

    def __init__(
        self, *, forward: Objective[Seq2Seq], backward: Objective[Seq2Seq], share: float, updates: int
    ) -> None:
        self.forward, self.backward, self.share, self.updates = forward, backward, share, updates

    def turns(self, step: int) -> bool:
        """Return whether an update learns from target to source.

        Args:
            step: the number of the update, from 1; step 0 learns from source to target.
        """
        return step > 0 and step % 2 == 0 and step <= self.share * self.updates

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        """Return the loss of a batch in the direction of its update."""
        return self.backward(model, turn(batch), step) if self.turns(step) else self.forward(model, batch, step)

    def needs_references(self, step: int) -> bool:
        """Return whether the objective of an update needs all targets of the sources; a batch that is turned has none.

        Args:
            step: the number of the update, from 1.
        """
        return not self.turns(step) and self.forward.needs_references(step)
