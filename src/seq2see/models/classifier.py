"""An encoder, a pool that reads its memory once, and a layer of classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from seq2see.core.registry import Part


class Classifier(nn.Module):
    """Yang et al. 2016, eq. 11: logits W v + b of the classes, v being what the pool made of the source."""

    weights: Tensor | None  # how much each class counts in training

    def __init__(
        self, *, encoder: nn.Module, pool: nn.Module, output: nn.Linear, weights: Tensor | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.pool, self.output = encoder, pool, output
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"]) -> Float[Tensor, "b c"]:
        """Logits of every class."""
        return self.output(self.pool(self.encoder(source, mask)))


def build_classifier(
    *,
    encoder: Part,
    pool: Part,
    source_sizes: Mapping[str, int],
    classes: int,
    weights: Sequence[float] | None = None,
) -> Classifier:
    """Build all three; the pool and the layer of classes learn from the encoder how wide its memory is."""
    built: Any = encoder(**source_sizes)
    output = nn.Linear(built.memory_size, classes)
    nn.init.zeros_(output.bias)
    counted = None if weights is None else torch.tensor(weights)
    return Classifier(encoder=built, pool=pool(size=built.memory_size), output=output, weights=counted)
