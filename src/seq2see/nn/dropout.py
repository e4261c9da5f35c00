"""Dropout with cheap masks: one random byte for each number, eight at a time from torch's generator.

`bernoulli_` spends most of its time drawing a float for each number. A byte decides to 1/256; the scale uses the
probability that was really drawn, so the expectation is exact. Training seeds the generator anew for every update,
so the masks are a function of the run's seed, the update and the worker.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zeroes each number with probability p in training, and multiplies the others by 1 / (1 - p).

    Srivastava et al. 2014 (https://jmlr.org/papers/v15/srivastava14a.html).

    Args:
        rate: p, from 0 to below 1, rounded to the nearest multiple of 1/256.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.kept = max(256 - round(rate * 256), 1)  # of the 256 values of a byte, so many keep a number

    def forward(self, states: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return the states with some numbers zeroed in training, and as they are otherwise.

        Args:
            states: a tensor of any shape.
        """
        if not self.training or self.kept == 256:
            return states
        return (states * draw_mask(states.shape, kept=self.kept, device=states.device)).mul_(256 / self.kept)

    def extra_repr(self) -> str:
        return f"rate={1 - self.kept / 256:.3f}"


def draw_mask(shape: torch.Size, *, kept: int, device: torch.device) -> Tensor:
    """Draw a boolean mask whose entries are True with probability kept / 256.

    Args:
        shape: the shape of the mask.
        kept: how many of the 256 values of a byte give True, 1 to 255.
        device: where the mask is drawn.
    """
    count = shape.numel()
    words = torch.empty((count + 7) // 8, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (words.view(torch.uint8)[:count] < kept).view(shape)
