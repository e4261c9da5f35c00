"""An encoder and a decoder, joined by a memory."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.tree import StateTree
from seq2see.models.network import Encoder, Network, SizedEncoder


@runtime_checkable
class Decoder(Protocol):
    """What the rest of the package knows of a decoder; `state` and `fixed` are trees of its own making."""

    output: nn.Linear
    training: bool

    def begin(self, memory: Memory) -> tuple[StateTree, StateTree]: ...
    def step(self, tokens: Tensor, state: StateTree, fixed: StateTree) -> tuple[Tensor, StateTree]: ...
    def features(self, tokens: Tensor, memory: Memory) -> Tensor: ...
    def train(self, mode: bool = True) -> object: ...
    def __call__(self, tokens: Tensor, memory: Memory) -> Tensor: ...


class Seq2Seq(Network):
    """p(target | source), one token after the other."""

    decoder: Decoder

    def __init__(self, *, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    @property
    def output_layer(self) -> nn.Linear:
        """The last layer, from features to tokens."""
        return self.decoder.output

    def forward(
        self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"], tokens: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each given token (teacher forcing)."""
        return self.decoder(tokens, self.encoder(source, mask))


def build_seq2seq(
    *, encoder: Part[SizedEncoder], decoder: Part[Decoder], source_sizes: Mapping[str, int], target_vocabulary: int
) -> Seq2Seq:
    """Build both halves; the decoder learns from the encoder how wide its memory is."""
    built = encoder(**source_sizes)
    writer = decoder(vocabulary=target_vocabulary, memory_size=built.memory_size)
    return Seq2Seq(encoder=built, decoder=writer)
