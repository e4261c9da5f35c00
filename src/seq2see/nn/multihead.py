"""Multi-head attention: projections around one Attend; self and cross attention are the same class."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.registry import Part
from seq2see.nn.attend import Attend


@dataclass(frozen=True)
class Remembered:
    """Keys and values of a memory, head by head."""

    keys: Float[Tensor, "b h s _"]
    values: Float[Tensor, "b h s d"]


class MultiHead(nn.Module):
    """Vaswani et al. 2017, section 3.2.2: concat(head_1 ... head_h) W, head_i = attend(Q W_i, K W_i, V W_i)."""

    def __init__(self, *, size: int, memory_size: int, heads: int, score: Part, normalise: Part) -> None:
        super().__init__()
        width = share(size, heads)
        self.heads = heads
        self.query = _linear(size, size)
        self.memory = _linear(memory_size, 2 * size)  # keys and values side by side
        self.output = _linear(size, size)
        self.attend = Attend(score=score(query_size=width, key_size=width), normalise=normalise())

    def remember(self, states: Float[Tensor, "b s m"], values: Float[Tensor, "b s m"] | None = None) -> Remembered:
        """What does not depend on the query, to be computed once per memory."""
        keys, own = self.memory(states).chunk(2, dim=-1)
        if values is not None:  # an encoder that gives values of their own
            own = self.memory(values).chunk(2, dim=-1)[1]
        return Remembered(self.attend.prepare(split(keys, self.heads)), split(own, self.heads))

    def forward(
        self,
        query: Float[Tensor, "n t d"],
        memory: Remembered,
        mask: Bool[Tensor, "b #1 #t s"] | None = None,
        *,
        causal: bool = False,
        past: bool = False,
    ) -> Float[Tensor, "n t d"]:
        """Attend with every query; n may be a multiple of b: hypotheses of one source are further queries on it.

        Causal: each sees the keys up to its own place. Past: all keys come before the queries, and a trace shall know.
        """
        sources = memory.keys.shape[0]
        queries = split(self.query(query).reshape(sources, -1, query.shape[-1]), self.heads)
        context: Tensor = self.attend(queries, memory.keys, memory.values, mask, causal=causal, past=past)
        return self.output(merge(context).reshape(query.shape))


def share(size: int, heads: int) -> int:
    """The width of one head."""
    if size % heads:
        raise ConfigError(f"size must be a multiple of heads; got a size of {size} and {heads} heads.")
    return size // heads


def split(states: Float[Tensor, "b s d"], heads: int) -> Float[Tensor, "b h s _"]:
    """Each head's share of the states."""
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(shares: Float[Tensor, "b h s _"]) -> Float[Tensor, "b s d"]:
    """The shares of all heads side by side."""
    return shares.transpose(1, 2).flatten(2)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    for block in layer.weight.data.split(min(inputs, outputs)):  # each of several projections for itself
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(layer.bias)
    return layer
