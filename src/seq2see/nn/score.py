"""Score functions: how well a query and a key fit, before normalising.

`prepare` does once per memory what does not depend on the query; `forward` takes what it returned. Below, q is a query
vector, k a key vector and d their width.
"""

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.option_types import Count
from seq2see.nn.shared_gradient import dot_products


class Score(nn.Module):
    """Base of all scores: queries [b h t q] and prepared keys [b h s _] give scores [b h t s].

    A score of your own overrides `forward`, and `prepare` if part of the work depends on the keys alone; its
    constructor may take `query_size` and `key_size`. `seq2see.testing.check_score` checks it.
    """

    content = True  # whether the score depends on the content of a key and not on its position

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s _"]:
        """Compute what depends on the keys alone, once per memory; the base class returns the keys.

        Args:
            keys: one vector for each key, [b h s k].
        """
        return keys

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s _"]) -> Float[Tensor, "b h t s"]:
        """Return one number for every pair of query and key, [b h t s].

        Args:
            query: one vector for each query, [b h t q].
            keys: what `prepare` returned, [b h s _].
        """
        raise NotImplementedError

    def fused_scale(self, size: int) -> float | None:
        """Return the factor of the dot product q . k that equals this score; None if there is none.

        With a factor, a fused dot-product kernel may replace `forward`.

        Args:
            size: channels of a query, which are also those of a prepared key.
        """
        return None


class Dot(Score):
    """Scores by the dot product: score(q, k) = q . k (Luong et al. 2015, arXiv:1508.04025, section 3.1).

    Args:
        query_size: channels of a query; must equal `key_size`.
        key_size: channels of a key.
    """

    def __init__(self, *, query_size: int, key_size: int) -> None:
        super().__init__()
        _require_one_size("dot", query_size, key_size)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        return dot_products(query, keys)

    def fused_scale(self, size: int) -> float | None:
        return 1.0


class ScaledDot(Score):
    """Scores by the scaled dot product: score(q, k) = q . k / sqrt(d) (Vaswani et al. 2017, arXiv:1706.03762, eq. 1).

    Args:
        query_size: channels d of a query; must equal `key_size`.
        key_size: channels of a key.
    """

    def __init__(self, *, query_size: int, key_size: int) -> None:
        super().__init__()
        _require_one_size("scaled_dot", query_size, key_size)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        return dot_products(query, keys) / math.sqrt(query.shape[-1])

    def fused_scale(self, size: int) -> float | None:
        return 1 / math.sqrt(size)


class General(Score):
    """Scores by a bilinear form: score(q, k) = q . W k (Luong et al. 2015, arXiv:1508.04025, section 3.1).

    Args:
        query_size: channels of a query.
        key_size: channels of a key.
        project: what W multiplies: the keys, once per memory; or each query, which is cheaper for many keys.
        scaled: divide by the square root of the projected width, so that attention is nearly uniform at the start of
            training.
        temperature: divides the scores; above 0, and below 1 attention is sharper from the start of training.
    """

    def __init__(
        self,
        *,
        query_size: int,
        key_size: int,
        project: Literal["keys", "query"] = "keys",
        scaled: bool = False,
        temperature: Annotated[float, Gt(0)] = 1.0,
    ) -> None:
        super().__init__()
        self.early = project == "keys"
        sizes = (key_size, query_size) if self.early else (query_size, key_size)
        self.scale = (sizes[1] ** -0.5 if scaled else 1.0) / temperature
        self.project = nn.Linear(*sizes, bias=False)

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s d"]:
        return self.project(keys) if self.early else keys

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        return dot_products(query if self.early else self.project(query), keys) * self.scale

    def fused_scale(self, size: int) -> float | None:
        return self.scale if self.early else None  # once the keys are prepared, the rest is a dot product


class Additive(Score):
    """Scores by one hidden layer: score(q, k) = v . tanh(W q + U k + b).

    Bahdanau et al. 2015 (arXiv:1409.0473), appendix A.1.2. Luong's concat score (arXiv:1508.04025, section 3.1) is the
    same with W and U side by side in one matrix.

    Args:
        query_size: channels of a query.
        key_size: channels of a key.
        size: channels of the hidden layer; 0 takes `query_size`.
    """

    def __init__(self, *, query_size: int, key_size: int, size: Annotated[int, Ge(0)] = 0) -> None:
        super().__init__()
        size = size or query_size
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = nn.Linear(key_size, size, bias=True)
        self.vector = nn.Parameter(torch.empty(size).uniform_(-1, 1) / math.sqrt(size))

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s d"]:
        return self.key(keys)

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        joined = self.query(query).unsqueeze(3) + keys.unsqueeze(2)
        return joined.tanh() @ self.vector


class Location(Score):
    """Scores positions, not contents: score(q, s) = (W q)_s (Luong et al. 2015, arXiv:1508.04025, eq. 8).

    Training refuses sources of more than `max_positions` tokens; outside of training later tokens weigh 0.

    Args:
        query_size: channels of a query.
        max_positions: how many source positions W has rows for.
    """

    content = False

    def __init__(self, *, query_size: int, max_positions: Count = 512) -> None:
        super().__init__()
        self.positions = nn.Linear(query_size, max_positions, bias=False)

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h t s"]:
        length, limit = keys.shape[2], self.positions.out_features
        if length > limit and self.training:
            raise TokenError(
                f"the location score has weights for {limit} source positions; got a source of {length} tokens; "
                "shorten it, or train with a larger max_positions."
            )
        known = F.linear(query, self.positions.weight[:length])
        return F.pad(known, (0, max(length - limit, 0)), value=torch.finfo(known.dtype).min)


class Cosine(Score):
    """Scores by the angle: score(q, k) = b cos(q, k) with a learned key strength b > 0.

    Graves et al. 2014 (arXiv:1410.5401), eq. 5-6.

    Args:
        query_size: channels of a query; must equal `key_size`.
        key_size: channels of a key.
        strength: b at the start of training, above 0; None is the cosine itself, with nothing to learn.
    """

    def __init__(self, *, query_size: int, key_size: int, strength: Annotated[float, Gt(0)] | None = 8.0) -> None:
        super().__init__()
        _require_one_size("cosine", query_size, key_size)
        self.log_strength = None if strength is None else nn.Parameter(torch.tensor(math.log(strength)))

    def prepare(self, keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h s d"]:
        return F.normalize(keys, dim=-1)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        angles = dot_products(F.normalize(query, dim=-1), keys)
        return angles if self.log_strength is None else self.log_strength.exp() * angles


def _require_one_size(name: str, query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ConfigError(
            f"the {name} score compares query and key directly, so both must have one size; got {query_size} and "
            f"{key_size}; use the general or additive score, or give encoder and decoder fitting sizes."
        )
