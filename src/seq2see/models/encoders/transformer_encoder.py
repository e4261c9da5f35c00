"""The Transformer encoder: layers of self-attention and feed-forward."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory, mean
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.multihead import MultiHead
from seq2see.nn.normalise import Normaliser
from seq2see.nn.position import Position
from seq2see.nn.score import Score
from seq2see.nn.transformer_block import AddNorm, FeedForward, Norm

SINUSOIDAL, SCALED_DOT, SOFTMAX = (
    Part[Position]("position", "sinusoidal"),
    Part[Score]("score", "scaled_dot"),
    Part[Normaliser]("normalise", "softmax"),
)


class TransformerEncoder(nn.Module):
    """Reads a source with self-attention: every position attends to every other.

    Vaswani et al. 2017 (arXiv:1706.03762), section 3.1.

    Args:
        vocabulary: number of source tokens v.
        size: channels d of a layer.
        inner_size: channels of the feed-forward network's hidden layer.
        layers: number of layers.
        heads: attention heads.
        norm: `pre` or `post` layer normalisation.
        position: the position encoding.
        score: the score function.
        normalise: the normaliser.
        dropout: the dropout rate of embeddings and sublayers.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        size: Count = 128,
        inner_size: Count = 256,
        layers: Count = 4,
        heads: Count = 4,
        norm: Norm = "pre",
        position: Part[Position] = SINUSOIDAL,
        score: Part[Score] = SCALED_DOT,
        normalise: Part[Normaliser] = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = size
        self.embed = Embed(vocabulary, size, scaled=True)
        self.position = position(size=size)
        self.dropout = Dropout(dropout)
        self.layers: TypedModuleList[TransformerEncoderLayer] = TypedModuleList(
            TransformerEncoderLayer(
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
        """Encode padded tokens; masked positions change nothing.

        Args:
            tokens: ids of the sources, the end mark included, [b s].
            mask: True at tokens, False at padding.
        """
        states: Tensor = self.dropout(self.embed(tokens) + self.position(0, tokens.shape[1]))
        for layer in self.layers:
            states = layer(states, mask[:, None, None, :])
        states = self.norm(states) * mask.unsqueeze(2)
        return Memory(states=states, mask=mask, summary=mean(states, mask))

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that a decoder may share, layer by layer."""
        return [[layer.self_attention, layer.feed_forward] for layer in self.layers]


class TransformerEncoderLayer(nn.Module):
    """Is one layer: self-attention, then the feed-forward network.

    Args:
        size: channels d.
        inner_size: channels of the feed-forward network's hidden layer.
        heads: attention heads.
        norm: `pre` or `post` layer normalisation.
        score: the score function.
        normalise: the normaliser.
        dropout: the dropout rate of the sublayers.
    """

    def __init__(
        self,
        *,
        size: int,
        inner_size: int,
        heads: int,
        norm: Norm,
        score: Part[Score],
        normalise: Part[Normaliser],
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHead(size=size, memory_size=size, heads=heads, score=score, normalise=normalise)
        self.feed_forward = FeedForward(size=size, inner_size=inner_size)
        self.self_norm = AddNorm(size=size, norm=norm, dropout=dropout)
        self.feed_forward_norm = AddNorm(size=size, norm=norm, dropout=dropout)

    def forward(self, states: Float[Tensor, "b s d"], mask: Bool[Tensor, "b 1 1 s"]) -> Float[Tensor, "b s d"]:
        """Return the states of all positions after this layer.

        Args:
            states: the states before it, [b s d].
            mask: True at positions that may be attended to, [b 1 1 s].
        """
        states = self.self_norm(states, lambda x: self.self_attention(x, self.self_attention.project_memory(x), mask))
        return self.feed_forward_norm(states, self.feed_forward)
