"""An encoder and a decoder, joined by a memory."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part


@runtime_checkable
class Decoder(Protocol):
    """What the rest of the package knows of a decoder; `state` and `fixed` are trees of its own making."""

    output: nn.Linear

    def begin(self, memory: Memory) -> tuple[Any, Any]: ...
    def step(self, tokens: Tensor, state: Any, fixed: Any) -> tuple[Tensor, Any]: ...
    def features(self, tokens: Tensor, memory: Memory) -> Tensor: ...
    def __call__(self, tokens: Tensor, memory: Memory) -> Tensor: ...


class Seq2Seq(nn.Module):
    """p(target | source), one token after the other; `evenness` is what its loss asks of its attention."""

    decoder: Decoder

    def __init__(self, *, encoder: nn.Module, decoder: Decoder, evenness: float = 0.0) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.evenness = evenness

    @property
    def output(self) -> nn.Linear:
        """The last layer, from features to tokens."""
        return self.decoder.output

    def forward(
        self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"], tokens: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each given token (teacher forcing)."""
        return self.decoder(tokens, self.encoder(source, mask))


def build_seq2seq(
    *,
    encoder: Part,
    decoder: Part,
    source_sizes: Mapping[str, int],
    target_vocabulary: int,
    evenness: float = 0.0,
) -> Seq2Seq:
    """Build both halves; the decoder learns from the encoder how wide its memory is."""
    built: Any = encoder(**source_sizes)
    writer = decoder(vocabulary=target_vocabulary, memory_size=built.memory_size)
    return Seq2Seq(encoder=built, decoder=writer, evenness=evenness)
