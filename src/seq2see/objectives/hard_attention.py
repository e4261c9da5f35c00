"""Hard attention: the part of a loss that teaches a model which positions to sample."""

from jaxtyping import Float
from torch import Tensor

from seq2see.objectives.forward_pass import ForwardPass, LossTerm


class HardAttention(LossTerm):
    """Adds the gradient of REINFORCE (Williams 1992, doi:10.1007/BF00992696) for the positions that were sampled.

    Xu et al. 2015 (arXiv:1502.03044), section 4.1. Every part that sampled gives its own loss from the log-likelihood
    of the target tokens (`nn.normalise.Hard` has the equation). Only the gradient of that loss is added: the value of
    the total stays as it was, so that losses can be compared with those of other models. Without sampled positions it
    adds nothing.
    """

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """Return the loss with the gradient of the sampled positions."""
        sampled = forward.choices.loss(-forward.nll, forward.batch.target_mask)
        return total + (sampled - sampled.detach())
