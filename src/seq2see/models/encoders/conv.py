"""The convolutional encoder: all places of a source at once."""

import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory, mean
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.nn.convolution import HALF, GatedConvolution, NormedLinear
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed

LEARNED = Part("position", "learned")


class ConvEncoder(nn.Module):
    """Gehring et al. 2017, sections 3.1-3.3: keys are the top states z, values are z + e with the embeddings e."""

    def __init__(
        self,
        *,
        vocabulary: int,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 4,
        width: Count = 3,
        position: Part = LEARNED,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = embedding_size
        self.embed = Embed(vocabulary, embedding_size)
        self.position = position(size=embedding_size)
        self.dropout = Dropout(dropout)
        self.widen = NormedLinear(embedding_size, size, kept=1 - dropout)
        self.layers = nn.ModuleList(GatedConvolution(size=size, width=width, kept=1 - dropout) for _ in range(layers))
        self.narrow = NormedLinear(size, embedding_size)
        self.around = ((width - 1) // 2, width // 2)  # zeros on the left and on the right

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; what stands at masked positions changes nothing."""
        real = mask.unsqueeze(2)
        embedded: Tensor = self.dropout(self.embed(tokens) + self.position(0, tokens.shape[1]))
        states: Tensor = self.widen(embedded)
        for layer in self.layers:
            states = states * real  # no window may see padding
            states = (layer(F.pad(self.dropout(states), (0, 0, *self.around))) + states) * HALF
        states = self.narrow(states) * real
        values = (states + embedded) * HALF * real
        return Memory(states=states, mask=mask, values=values, summary=mean(states, mask))

    def own_layers(self) -> list[list[nn.Module]]:
        """What a decoder may share, layer by layer."""
        return [[layer] for layer in self.layers]
