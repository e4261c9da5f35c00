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
    """Is what the rest of the package knows of a decoder.

    Each decoder makes two trees of tensors that only it reads: `fixed` is constant for a source and has one row a
    source, and `state` changes with every step and has one row a hypothesis.
    """

    output: nn.Linear
    training: bool

    def begin(self, memory: Memory) -> tuple[StateTree, StateTree]:
        """Return what is constant for each source, and the state before the first step; both have one row a source.

        Args:
            memory: what the encoder returned for b sources.
        """
        ...

    def step(self, tokens: Tensor, state: StateTree, fixed: StateTree) -> tuple[Tensor, StateTree]:
        """Return the logits [n v] of the next token after one more token, and the state after that token.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            fixed: what `begin` returned, one row a source; n is a multiple of its rows, and hypotheses of one source
                are neighbours.
        """
        ...

    def features(self, tokens: Tensor, memory: Memory) -> Tensor:
        """Return what the output layer sees after each token (teacher forcing), [b t d].

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        ...

    def train(self, mode: bool = True) -> object:
        """Set training mode, in which dropout is active.

        Args:
            mode: True for training, False for evaluation.
        """
        ...

    def __call__(self, tokens: Tensor, memory: Memory) -> Tensor: ...


class Seq2Seq(Network):
    """Models p(target | source) = product over t of p(y_t | y_<t, source), one token after the other.

    Args:
        encoder: reads the sources into a memory.
        decoder: writes the target from that memory.
    """

    decoder: Decoder

    def __init__(self, *, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    @property
    def output_layer(self) -> nn.Linear:
        """Return the decoder's output layer, from features to logits of tokens."""
        return self.decoder.output

    def forward(
        self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"], tokens: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each given token (teacher forcing).

        Args:
            source: a batch of sources as the encoder takes them: ids [b s] or [b u w], or pixels or features [b d y x].
            mask: True at real positions of the sources, False at padding.
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
        """
        return self.decoder(tokens, self.encoder(source, mask))


def build_seq2seq(
    *, encoder: Part[SizedEncoder], decoder: Part[Decoder], source_sizes: Mapping[str, int], target_vocabulary: int
) -> Seq2Seq:
    """Build a sequence-to-sequence model; its decoder gets the width of the encoder's memory.

    Args:
        encoder: the encoder of a configuration, not built yet.
        decoder: the decoder of a configuration, not built yet.
        source_sizes: the sizes that the encoder is built with: {"vocabulary": 100} or {"image_size": 224}.
        target_vocabulary: number of target tokens v, special tokens included.
    """
    built = encoder(**source_sizes)
    writer = decoder(vocabulary=target_vocabulary, memory_size=built.memory_size)
    return Seq2Seq(encoder=built, decoder=writer)
