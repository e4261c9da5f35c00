"""Multi-head attention: projections around one Attend; self-attention and cross-attention are the same class."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.registry import Part
from seq2see.nn.attend import Attend
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score


@dataclass(frozen=True)
class KeysValues:
    """Holds the projected keys and values of a memory, head by head.

    Args:
        keys: the prepared keys, [b h s _].
        values: the values, [b h s d].
    """

    keys: Float[Tensor, "b h s _"]
    values: Float[Tensor, "b h s d"]


class MultiHead(nn.Module):
    """Attends with several heads: concat(head_1, ..., head_h) W with head_i = attend(Q W_i, K W_i, V W_i).

    Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.2. `project_memory` computes K W_i and V W_i once per memory.

    Args:
        size: channels d of the queries and of the output; a multiple of `heads`.
        memory_size: channels m of the states that are attended to.
        heads: number of heads.
        score: the score function of every head.
        normalise: the normaliser of every head.
    """

    def __init__(
        self, *, size: int, memory_size: int, heads: int, score: Part[Score], normalise: Part[Normaliser]
    ) -> None:
        super().__init__()
        width = head_width(size, heads)
        self.heads = heads
        self.query = _linear(size, size)
        self.memory = _linear(memory_size, 2 * size)  # keys and values side by side
        self.output = _linear(size, size)
        self.attend = Attend(score=score(query_size=width, key_size=width), normalise=normalise())

    def project_memory(
        self, states: Float[Tensor, "b s m"], values: Float[Tensor, "b s m"] | None = None
    ) -> KeysValues:
        """Compute the keys and values of all heads, once per memory.

        Args:
            states: what the keys are computed from, [b s m].
            values: what the values are computed from, [b s m]; None takes the states.
        """
        keys, projected_values = self.memory(states).chunk(2, dim=-1)
        if values is not None:  # an encoder whose values are not its states
            projected_values = self.memory(values).chunk(2, dim=-1)[1]
        return KeysValues(self.attend.prepare(split_heads(keys, self.heads)), split_heads(projected_values, self.heads))

    def forward(
        self,
        query: Float[Tensor, "n t d"],
        memory: KeysValues,
        mask: Bool[Tensor, "b #1 #t s"] | None = None,
        *,
        causal: bool = False,
        past: bool = False,
    ) -> Float[Tensor, "n t d"]:
        """Return the output of every query.

        Args:
            query: [n t d]; n may be a multiple of b: hypotheses of one source are further queries on its memory.
            memory: what `project_memory` returned, one row for each source.
            mask: True where a query may attend to a key, [b 1 1 s], or [b 1 t s] if n is b; None allows all keys.
            causal: let query i attend to the keys 0 to i only.
            past: tell a trace that all keys come before the queries, and do not belong to a source.
        """
        sources = memory.keys.shape[0]
        queries = split_heads(self.query(query).reshape(sources, -1, query.shape[-1]), self.heads)
        context: Tensor = self.attend(queries, memory.keys, memory.values, mask, causal=causal, past=past)
        return self.output(merge_heads(context).reshape(query.shape))


def head_width(size: int, heads: int) -> int:
    """Return the channels of one head.

    Args:
        size: channels of all heads together.
        heads: number of heads.

    Raises:
        ConfigError: if the size is no multiple of the heads.
    """
    if size % heads:
        raise ConfigError(f"size must be a multiple of heads; got a size of {size} and {heads} heads.")
    return size // heads


def split_heads(states: Float[Tensor, "b s d"], heads: int) -> Float[Tensor, "b h s _"]:
    """Give each head its channels of the states, [b h s _].

    Args:
        states: [b s d].
        heads: number of heads, of which d is a multiple.
    """
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(states: Float[Tensor, "b h s _"]) -> Float[Tensor, "b s d"]:
    """Put the channels of all heads side by side, [b s d].

    Args:
        states: [b h s _].
    """
    return states.transpose(1, 2).flatten(2)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    for block in layer.weight.data.split(min(inputs, outputs)):  # each of several projections for itself
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(layer.bias)
    return layer
