"""The sublayers of a Transformer: residual connection with dropout and layer norm, and the feed-forward network."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.nn.dropout import Dropout

Norm = Literal["pre", "post"]


class AddNorm(nn.Module):
    """Adds what a sublayer f returns to its input x, and normalises.

    post: norm(x + f(x)), as in Vaswani et al. 2017 (arXiv:1706.03762), section 3.1; pre: x + f(norm(x)), as in Xiong et
    al. 2020 (arXiv:2002.04745), which needs one more norm after the last layer.

    Args:
        size: channels d.
        norm: `pre` or `post`, as above.
        dropout: the dropout rate of f(x), from 0 to below 1.
    """

    def __init__(self, *, size: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.pre = norm == "pre"
        self.norm = nn.LayerNorm(size)
        self.dropout = Dropout(dropout)

    def forward(self, states: Float[Tensor, "n t d"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "n t d"]:
        """Return the states with the sublayer's output added, and normalised if the norm is `post`.

        Args:
            states: x, [n t d].
            sublayer: f, from [n t d] to [n t d]; with `pre` it is given norm(x).
        """
        if self.pre:
            return states + self.dropout(sublayer(self.norm(states)))
        return self.norm(states + self.dropout(sublayer(states)))


class FeedForward(nn.Module):
    """Applies FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 at every position (Vaswani et al. 2017, arXiv:1706.03762, eq. 2).

    Args:
        size: channels d of x.
        inner_size: channels of the hidden layer.
    """

    def __init__(self, *, size: int, inner_size: int) -> None:
        super().__init__()
        self.expand = nn.Linear(size, inner_size)
        self.contract = nn.Linear(inner_size, size)
        for layer in (self.expand, self.contract):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "n t d"]) -> Float[Tensor, "n t d"]:
        """Return FFN(x).

        Args:
            states: x, [n t d].
        """
        return self.contract(self.expand(states).relu_())
