"""The convolutional encoder: gated convolutions over all positions of a source at once."""

import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory, mean
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.nn.convolution import SQRT_HALF, GatedConvolution, NormedLinear
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.position import Position

LEARNED = Part[Position]("position", "learned")


class ConvEncoder(nn.Module):
    """Reads a source with gated convolutions: keys are the top states z, values are z + e with the embeddings e.

    Gehring et al. 2017 (arXiv:1705.03122), sections 3.1-3.3.

    Args:
        vocabulary: number of source tokens v.
        embedding_size: channels e of the source embeddings and of the memory.
        size: channels d of a layer.
        layers: number of layers.
        width: positions that a convolution sees.
        position: the position encoding.
        dropout: the dropout rate of embeddings and layers.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 4,
        width: Count = 3,
        position: Part[Position] = LEARNED,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = embedding_size
        self.embed = Embed(vocabulary, embedding_size)
        self.position = position(size=embedding_size)
        self.dropout = Dropout(dropout)
        self.project_in = NormedLinear(embedding_size, size, kept=1 - dropout)
        self.layers = nn.ModuleList(GatedConvolution(size=size, width=width, kept=1 - dropout) for _ in range(layers))
        self.project_out = NormedLinear(size, embedding_size)
        self.padding = ((width - 1) // 2, width // 2)  # zeros on the left and on the right

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; masked positions change nothing.

        Args:
            tokens: ids of the sources, the end mark included, [b s].
            mask: True at tokens, False at padding.
        """
        real = mask.unsqueeze(2)
        embedded: Tensor = self.dropout(self.embed(tokens) + self.position(0, tokens.shape[1]))
        states: Tensor = self.project_in(embedded)
        for layer in self.layers:
            states = states * real  # no window may see padding
            states = (layer(F.pad(self.dropout(states), (0, 0, *self.padding))) + states) * SQRT_HALF
        states = self.project_out(states) * real
        values = (states + embedded) * SQRT_HALF * real
        return Memory(states=states, mask=mask, values=values, summary=mean(states, mask))

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that a decoder may share, layer by layer."""
        return [[layer] for layer in self.layers]
