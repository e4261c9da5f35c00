"""Windows: the few keys around a centre that a query looks at, so that attention costs the window, not the sentence."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.shapes import Count


class Window(nn.Module):
    """Base of all windows: the keys from `radius` before a centre to `radius` after it."""

    def __init__(self, *, radius: Count = 10) -> None:
        super().__init__()
        self.radius = radius

    def centre(
        self, query: Float[Tensor, "b h t q"], mask: Bool[Tensor, "*#b #h #t s"], positions: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b h t"]:
        """Around which key each query looks, from the query, what it may attend to, and its number in the target."""
        raise NotImplementedError

    def fade(self, weights: Float[Tensor, "b h t w"], distance: Float[Tensor, "b h t w"]) -> Float[Tensor, "b h t w"]:
        """The weights after their distance from the centre has had its say; by itself, it has none."""
        return weights

    def cut(
        self, centre: Float[Tensor, "b h t"], mask: Bool[Tensor, "*#b #h #t s"]
    ) -> tuple[Int[Tensor, "b h t w"], Bool[Tensor, "b h t w"]]:
        """The keys of each window, and which of them may be attended to."""
        length = mask.shape[-1]
        width = min(2 * self.radius + 1, length)
        middle = centre.detach().round().long().unsqueeze(-1)
        # at a border the keys shift inwards and those too far away are masked: no index ever leaves the memory
        keys = (middle - self.radius).clamp(0, length - width) + torch.arange(width)
        allowed = mask.expand(*centre.shape, length).gather(-1, keys)
        return keys, allowed & ((keys - middle).abs() <= self.radius)


class Monotonic(Window):
    """Luong et al. 2015, section 3.2, local-m: target position t looks around source position t."""

    def centre(
        self, query: Float[Tensor, "b h t q"], mask: Bool[Tensor, "*#b #h #t s"], positions: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b h t"]:
        return positions.unsqueeze(1).expand(query.shape[:3]).to(query.dtype)


class Predictive(Window):
    """Luong et al. 2015, eq. 9-10, local-p: centre p = S sigmoid(v . tanh(W q)), and every weight is multiplied by
    exp(-(s - p)^2 / (2 sigma^2)) with sigma = radius / 2, through which p learns.
    """

    def __init__(self, *, query_size: int, radius: Count = 10) -> None:
        super().__init__(radius=radius)
        self.project = nn.Linear(query_size, query_size, bias=False)
        self.vector = nn.Parameter(torch.empty(query_size).uniform_(-1, 1) / math.sqrt(query_size))

    def centre(
        self, query: Float[Tensor, "b h t q"], mask: Bool[Tensor, "*#b #h #t s"], positions: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b h t"]:
        return mask.sum(dim=-1) * (self.project(query).tanh() @ self.vector).sigmoid()

    def fade(self, weights: Float[Tensor, "b h t w"], distance: Float[Tensor, "b h t w"]) -> Float[Tensor, "b h t w"]:
        sigma = self.radius / 2
        return weights * (-distance.square() / (2 * sigma**2)).exp()


def take(states: Float[Tensor, "b h s d"], keys: Int[Tensor, "b h t w"]) -> Float[Tensor, "b*t h w d"]:
    """The states at some keys of each query, each query as a source of its own."""
    sources, heads, length, size = states.shape
    first = torch.arange(sources * heads).view(sources, heads, 1, 1) * length
    rows = (first + keys).transpose(1, 2)
    # as rows of one table: the gradient of this lookup is a plain sum into the rows
    return states.reshape(-1, size).index_select(0, rows.flatten()).view(-1, heads, keys.shape[3], size)
