"""An encoder, a pool that reads its memory once, and a layer of classes."""

from collections.abc import Mapping

from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from seq2see.core.registry import Part
from seq2see.models.network import Encoder, Network, SizedEncoder
from seq2see.nn.pool import Pool


class Classifier(Network):
    """Yang et al. 2016, eq. 11: logits W v + b of the classes, v being what the pool made of the source."""

    def __init__(self, *, encoder: Encoder, pool: nn.Module, output: nn.Linear) -> None:
        super().__init__()
        self.encoder, self.pool, self.output = encoder, pool, output

    @property
    def output_layer(self) -> nn.Linear:
        """The layer of classes."""
        return self.output

    def forward(self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"]) -> Float[Tensor, "b c"]:
        """Logits of every class."""
        return self.output(self.pool(self.encoder(source, mask)))


def build_classifier(
    *, encoder: Part[SizedEncoder], pool: Part[Pool], source_sizes: Mapping[str, int], classes: int
) -> Classifier:
    """Build all three; the pool and the layer of classes learn from the encoder how wide its memory is."""
    built = encoder(**source_sizes)
    output = nn.Linear(built.memory_size, classes)
    nn.init.zeros_(output.bias)
    return Classifier(encoder=built, pool=pool(size=built.memory_size), output=output)
