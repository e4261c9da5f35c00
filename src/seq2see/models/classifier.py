"""An encoder, a pool that reads its memory once, and a layer of classes."""

from collections.abc import Mapping

from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from seq2see.core.registry import Part
from seq2see.models.network import Encoder, Network, SizedEncoder
from seq2see.nn.pool import Pool


class Classifier(Network):
    """Computes logits W v + b of the labels from the vector v that a pool makes of the source.

    Yang et al. 2016 (doi:10.18653/v1/N16-1174), eq. 11.

    Args:
        encoder: reads the sources into a memory.
        pool: turns the memory into one vector for each source, [b d].
        output: the layer W, b from that vector to the logits of c labels.
    """

    def __init__(self, *, encoder: Encoder, pool: nn.Module, output: nn.Linear) -> None:
        super().__init__()
        self.encoder, self.pool, self.output = encoder, pool, output

    @property
    def output_layer(self) -> nn.Linear:
        """Return the layer that computes the logits of the labels."""
        return self.output

    def forward(self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"]) -> Float[Tensor, "b c"]:
        """Return the logits of every label.

        Args:
            source: a batch of sources as the encoder takes them: ids [b s] or [b u w], or pixels or features [b d y x].
            mask: True at real positions of the sources, False at padding.
        """
        return self.output(self.pool(self.encoder(source, mask)))


def build_classifier(
    *, encoder: Part[SizedEncoder], pool: Part[Pool], source_sizes: Mapping[str, int], classes: int
) -> Classifier:
    """Build a classifier; its pool and its output layer get the width of the encoder's memory.

    Args:
        encoder: the encoder of a configuration, not built yet.
        pool: the pool of a configuration, not built yet.
        source_sizes: the sizes that the encoder is built with: {"vocabulary": 100} or {"image_size": 224}.
        classes: number of labels c.
    """
    built = encoder(**source_sizes)
    output = nn.Linear(built.memory_size, classes)
    nn.init.zeros_(output.bias)
    return Classifier(encoder=built, pool=pool(size=built.memory_size), output=output)
