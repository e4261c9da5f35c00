"""The frame around the sublayers of a Transformer: residual, dropout, layer norm; and its feed-forward sublayer."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.nn.dropout import Dropout

Norm = Literal["pre", "post"]


class AddNorm(nn.Module):
    """post: norm(x + f(x)), as in Vaswani et al. 2017; pre: x + f(norm(x)), which needs a norm after the last layer."""

    def __init__(self, *, size: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.before = norm == "pre"
        self.norm = nn.LayerNorm(size)
        self.dropout = Dropout(dropout)

    def forward(self, states: Float[Tensor, "n t d"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "n t d"]:
        """The states with what a sublayer makes of them added."""
        if self.before:
            return states + self.dropout(sublayer(self.norm(states)))
        return self.norm(states + self.dropout(sublayer(states)))


class FeedForward(nn.Module):
    """Vaswani et al. 2017, eq. 2: max(0, x W + b) V + c, at every position alike."""

    def __init__(self, *, size: int, inner_size: int) -> None:
        super().__init__()
        self.widen = nn.Linear(size, inner_size)
        self.narrow = nn.Linear(inner_size, size)
        for layer in (self.widen, self.narrow):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "n t d"]) -> Float[Tensor, "n t d"]:
        return self.narrow(self.widen(states).relu_())
