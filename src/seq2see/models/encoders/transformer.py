"""The Transformer encoder: layers of self-attention and feed-forward."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory, mean
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.nn.block import AddNorm, FeedForward, Norm
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.multihead import MultiHead

SINUSOIDAL, SCALED_DOT, SOFTMAX = (
    Part("position", "sinusoidal"),
    Part("score", "scaled_dot"),
    Part("normalise", "softmax"),
)


class TransformerEncoder(nn.Module):
    """Vaswani et al. 2017, section 3.1: every position of the source attends to every other."""

    def __init__(
        self,
        *,
        vocabulary: int,
        size: Count = 128,
        inner_size: Count = 256,
        layers: Count = 4,
        heads: Count = 4,
        norm: Norm = "pre",
        position: Part = SINUSOIDAL,
        score: Part = SCALED_DOT,
        normalise: Part = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = size
        self.embed = Embed(vocabulary, size, scaled=True)
        self.position = position(size=size)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                size=size,
                inner_size=inner_size,
                heads=heads,
                norm=norm,
                score=score,
                normalise=normalise,
                dropout=dropout,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm == "pre" else nn.Identity()

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; what stands at masked positions changes nothing."""
        states: Tensor = self.dropout(self.embed(tokens) + self.position(0, tokens.shape[1]))
        for layer in self.layers:
            states = layer(states, mask[:, None, None, :])
        states = self.norm(states) * mask.unsqueeze(2)
        return Memory(states=states, mask=mask, summary=mean(states, mask))

    def own_layers(self) -> list[list[nn.Module]]:
        """What a decoder may share, layer by layer."""
        return [[layer.get_submodule("own"), layer.get_submodule("feed")] for layer in self.layers]


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(
        self, *, size: int, inner_size: int, heads: int, norm: Norm, score: Part, normalise: Part, dropout: float
    ) -> None:
        super().__init__()
        self.own = MultiHead(size=size, memory_size=size, heads=heads, score=score, normalise=normalise)
        self.feed = FeedForward(size=size, inner_size=inner_size)
        self.around_own = AddNorm(size=size, norm=norm, dropout=dropout)
        self.around_feed = AddNorm(size=size, norm=norm, dropout=dropout)

    def forward(self, states: Float[Tensor, "b s d"], mask: Bool[Tensor, "b 1 1 s"]) -> Float[Tensor, "b s d"]:
        states = self.around_own(states, lambda x: self.own(x, self.own.remember(x), mask))
        return self.around_feed(states, self.feed)
