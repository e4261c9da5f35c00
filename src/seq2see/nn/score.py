"""Score functions: how well a query and a key fit, before normalising.

`prepare` does once per memory what does not depend on the query; `forward` takes what it returned.
"""

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.shapes import Count
from seq2see.nn.tally import compare


class Score(nn.Module):
    """Base of all scores: queries [b h t q] and prepared keys [b h s k] give scores [b h t s]."""

    content = True  # depends on what a key says and not on where it stands

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s _"]:
        """What can be computed once per memory."""
        return keys

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s _"]) -> Float[Tensor, "b h t s"]:
        """One number for every pair of query and key."""
        raise NotImplementedError

    def fused_scale(self, size: int) -> float | None:
        """The factor with which this is a plain scaled dot product, so that a fused kernel may be used; else None."""
        return None


class Dot(Score):
    """Luong et al. 2015, section 3.1: q . k"""

    def __init__(self, *, query_size: int, key_size: int) -> None:
        super().__init__()
        _need_one_size("dot", query_size, key_size)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        return compare(query, keys)

    def fused_scale(self, size: int) -> float | None:
        return 1.0


class ScaledDot(Score):
    """Vaswani et al. 2017, eq. 1: q . k / sqrt(d)"""

    def __init__(self, *, query_size: int, key_size: int) -> None:
        super().__init__()
        _need_one_size("scaled_dot", query_size, key_size)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        return compare(query, keys) / math.sqrt(query.shape[-1])

    def fused_scale(self, size: int) -> float | None:
        return 1 / math.sqrt(size)


class General(Score):
    """Luong et al. 2015, section 3.1: q . W k

    project: which side meets W: the keys, once for a memory; or each query, which is less where keys are many.
    scaled: divide by the root of the width, so that attention begins even and becomes as sharp as it has reason to.
    temperature: scores are divided by it; below 1, attention becomes sharper, and does so earlier in training.
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
        return compare(query if self.early else self.project(query), keys) * self.scale

    def fused_scale(self, size: int) -> float | None:
        return self.scale if self.early else None  # once the keys are prepared, the rest is a dot product


class Additive(Score):
    """Bahdanau et al. 2015, appendix A.1.2: v . tanh(W q + U k); in Luong's concat W and U stand side by side."""

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
    """Luong et al. 2015, eq. 8: W q, one number for each position of the source, whatever stands there.

    What stands behind the last position that it knows is not looked at.
    """

    content = False

    def __init__(self, *, query_size: int, max_positions: Count = 512) -> None:
        super().__init__()
        self.positions = nn.Linear(query_size, max_positions, bias=False)

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h t s"]:
        length, limit = keys.shape[2], self.positions.out_features
        if length > limit and self.training:
            raise TokenError(
                f"the location score knows {limit} source positions; got a source of {length} tokens; "
                "shorten it, or train with a larger max_positions."
            )
        known = F.linear(query, self.positions.weight[:length])
        return F.pad(known, (0, max(length - limit, 0)), value=torch.finfo(known.dtype).min)


class Cosine(Score):
    """Graves et al. 2014, eq. 5-6: b cos(q, k), with a learned key strength b > 0; with none, the bare cosine."""

    def __init__(self, *, query_size: int, key_size: int, strength: Annotated[float, Gt(0)] | None = 8.0) -> None:
        super().__init__()
        _need_one_size("cosine", query_size, key_size)
        self.log_strength = None if strength is None else nn.Parameter(torch.tensor(math.log(strength)))

    def prepare(self, keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h s d"]:
        return F.normalize(keys, dim=-1)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        angles = compare(F.normalize(query, dim=-1), keys)
        return angles if self.log_strength is None else self.log_strength.exp() * angles


def _need_one_size(name: str, query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ConfigError(
            f"the {name} score compares query and key directly, so both must have one size; got {query_size} and "
            f"{key_size}; use the general or additive score, or give encoder and decoder fitting sizes."
        )
