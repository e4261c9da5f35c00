"""Maxout: the larger of each two neighbours."""

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.nn.dropout import Dropout


class Maxout(nn.Module):
    """Computes y_i = max(z_{2i}, z_{2i+1}) with z = W x + b, as a deep output layer.

    Bahdanau et al. 2015 (arXiv:1409.0473), appendix A.2.2, after Goodfellow et al. 2013 (arXiv:1302.4389).

    Args:
        input_size: channels i of x.
        size: channels o of y.
        dropout: the dropout rate of y.
    """

    def __init__(self, *, input_size: int, size: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(input_size, 2 * size)
        self.dropout = Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "n t i"]) -> Float[Tensor, "n t o"]:
        """Return y.

        Args:
            inputs: x, [n t i].
        """
        pairs = self.project(inputs).unflatten(-1, (-1, 2))
        return self.dropout(pairs.amax(dim=-1))
