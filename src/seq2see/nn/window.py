"""Windows of local attention: each query attends to the few keys around a centre, whatever the length of the source."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.option_types import Count


class Window(nn.Module):
    """Base of all windows: a query attends to the keys from `radius` before its centre to `radius` after it.

    Luong et al. 2015 (arXiv:1508.04025), section 3.2, where the radius is called D. A window of your own overrides
    `centre`; `seq2see.testing.check_window` checks it.

    Args:
        radius: keys on each side of the centre.
    """

    def __init__(self, *, radius: Count = 10) -> None:
        super().__init__()
        self.radius = radius

    def centre(
        self, query: Float[Tensor, "b h t q"], mask: Bool[Tensor, "*#b #h #t s"], positions: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b h t"]:
        """Return the centre p of each query as a position of the source, from 0, not rounded, [b h t].

        Args:
            query: one vector for each query, [b h t q].
            mask: True where a query may attend to a key, in a shape that broadcasts to [b h t s].
            positions: the number of each query in the target, from 0, [b t].
        """
        raise NotImplementedError

    def fade(self, weights: Float[Tensor, "b h t w"], distance: Float[Tensor, "b h t w"]) -> Float[Tensor, "b h t w"]:
        """Return the weights, reduced with their distance from the centre; the base class leaves them as they are.

        Args:
            weights: the weights of each window after normalising, [b h t w].
            distance: the position of each key minus that of the centre, [b h t w].
        """
        return weights

    def cut(
        self, centre: Float[Tensor, "b h t"], mask: Bool[Tensor, "*#b #h #t s"]
    ) -> tuple[Int[Tensor, "b h t w"], Bool[Tensor, "b h t w"]]:
        """Return the keys of each window as positions of the source, and which of them may be attended to.

        Args:
            centre: what `centre` returned, [b h t].
            mask: True where a query may attend to a key, in a shape that broadcasts to [b h t s].

        Returns:
            The positions, [b h t w], and a mask that is True where such a key is allowed and at most `radius` away from
            the rounded centre, [b h t w]. w is 2 radius + 1, or s if the source is shorter.
        """
        length = mask.shape[-1]
        width = min(2 * self.radius + 1, length)
        middle = centre.detach().round().long().unsqueeze(-1)
        # at a border the keys shift inwards and those too far away are masked: no index ever leaves the memory
        keys = (middle - self.radius).clamp(0, length - width) + torch.arange(width, device=centre.device)
        allowed = mask.expand(*centre.shape, length).gather(-1, keys)
        return keys, allowed & ((keys - middle).abs() <= self.radius)


class LocalM(Window):
    """Monotonic windows (local-m): p_t = t, so target position t attends around source position t.

    Luong et al. 2015 (arXiv:1508.04025), section 3.2.
    """

    def centre(
        self, query: Float[Tensor, "b h t q"], mask: Bool[Tensor, "*#b #h #t s"], positions: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b h t"]:
        return positions.unsqueeze(1).expand(query.shape[:3]).to(query.dtype)


class LocalP(Window):
    """Predictive windows (local-p): p = S sigmoid(v . tanh(W q)) for a source of S positions.

    Every weight is multiplied by exp(-(s - p)^2 / (2 sigma^2)) with sigma = radius / 2, which gives p its gradient
    (Luong et al. 2015, arXiv:1508.04025, eq. 9-10).

    Args:
        query_size: channels of a query.
        radius: keys on each side of the centre.
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
    """Gather the states at the keys of each window; each query becomes a source of its own.

    Args:
        states: keys or values of the whole source, [b h s d].
        keys: the source positions of each window, [b h t w].
    """
    sources, heads, length, size = states.shape
    first = torch.arange(sources * heads, device=keys.device).view(sources, heads, 1, 1) * length
    rows = (first + keys).transpose(1, 2)
    # as rows of one table: the gradient of this lookup is a plain sum into the rows
    return states.reshape(-1, size).index_select(0, rows.flatten()).view(-1, heads, keys.shape[3], size)
