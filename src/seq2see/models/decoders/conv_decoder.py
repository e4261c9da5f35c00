"""The convolutional decoder: each layer sees the last few positions, and attends to the memory by itself."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.readers.attention_readers import SOFTMAX, attend_to_source
from seq2see.nn.attend import Attend
from seq2see.nn.convolution import SQRT_HALF, GatedConvolution, NormedLinear
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.normalise import Normaliser
from seq2see.nn.position import Position
from seq2see.nn.score import Score

LEARNED = Part[Position]("position", "learned")
SCALED_DOT = Part[Score]("score", "scaled_dot")


@dataclass(frozen=True)
class ConvMemory:
    """Holds what is constant while one source is read: keys for each layer, and the values they share.

    Args:
        mask: True at real positions of the source, [b s].
        keys: for each layer what its attention prepared from the memory's states, [b 1 s _].
        values: what attention sums, [b 1 s m]: the memory's values times sqrt(source length) (section 3.4).
    """

    mask: Bool[Tensor, "b s"]
    keys: tuple[Float[Tensor, "b 1 s _"], ...]
    values: Float[Tensor, "b 1 s m"]


@dataclass(frozen=True)
class ConvState:
    """Holds the state of a convolutional decoder.

    Args:
        past: for each layer its inputs at the last width - 1 positions, [n w d]; zeros before the first position.
        position: number of tokens read so far, [n].
    """

    past: tuple[Float[Tensor, "n w d"], ...]
    position: Int[Tensor, " n"]


class ConvLayer(nn.Module):
    """Is one layer: h = conv(x) + x, d = W h + b + g with the embedding g of the last token, output h + attend(d).

    Gehring et al. 2017 (arXiv:1705.03122), eq. 1-2; every sum is multiplied by sqrt(0.5) (section 3.4).

    Args:
        size: channels d of a layer.
        width: positions that a convolution sees.
        embedding_size: channels e of the target embeddings.
        memory_size: channels m of the memory.
        score: the score function.
        normalise: the normaliser.
        dropout: the dropout rate of the layer's input.
    """

    def __init__(
        self,
        *,
        size: int,
        width: int,
        embedding_size: int,
        memory_size: int,
        score: Part[Score],
        normalise: Part[Normaliser],
        dropout: float,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = GatedConvolution(size=size, width=width, kept=1 - dropout)
        self.query = NormedLinear(size, embedding_size)
        self.cross = Attend(score=score(query_size=embedding_size, key_size=memory_size), normalise=normalise())
        self.context = NormedLinear(memory_size, size)

    def forward(
        self,
        inputs: Float[Tensor, "n t d"],
        past: Float[Tensor, "n w d"],
        embedded: Float[Tensor, "n t e"],
        keys: Float[Tensor, "b 1 s _"],
        reading: ConvMemory,
    ) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n w d"]]:
        """Return the outputs at the next t positions, and the inputs that positions after them will see.

        Args:
            inputs: the outputs of the layer below at these positions, [n t d].
            past: the inputs of this layer at the last width - 1 positions before them, [n w d].
            embedded: the embeddings g of the tokens at these positions, [n t e].
            keys: the keys of the source for this layer, [b 1 s _].
            reading: the values and the mask of the source; n is a multiple of its rows b.
        """
        seen = torch.cat([past, self.dropout(inputs)], dim=1)
        hidden = (self.convolution(seen) + inputs) * SQRT_HALF
        query = (self.query(hidden) + embedded) * SQRT_HALF
        context = attend_to_source(self.cross, query, keys, reading.values, reading.mask)
        return (hidden + self.context(context)) * SQRT_HALF, seen[:, inputs.shape[1] :]


class ConvDecoder(nn.Module):
    """Writes a target with causal convolutions; training computes all positions at once.

    Gehring et al. 2017 (arXiv:1705.03122), section 3.

    Args:
        vocabulary: number of target tokens v.
        memory_size: channels m of the encoder's memory.
        embedding_size: channels e of the target embeddings.
        size: channels d of a layer.
        layers: number of layers.
        width: positions that a convolution sees.
        position: the position encoding.
        score: the score function.
        normalise: the normaliser.
        dropout: the dropout rate of embeddings, layers and output.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 4,
        width: Count = 3,
        position: Part[Position] = LEARNED,
        score: Part[Score] = SCALED_DOT,
        normalise: Part[Normaliser] = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.size, self.width = size, width
        self.embed = Embed(vocabulary, embedding_size)
        self.position = position(size=embedding_size)
        self.dropout = Dropout(dropout)
        self.project_in = NormedLinear(embedding_size, size, kept=1 - dropout)
        sizes = {"size": size, "width": width, "embedding_size": embedding_size, "memory_size": memory_size}
        self.layers: TypedModuleList[ConvLayer] = TypedModuleList(
            ConvLayer(score=score, normalise=normalise, dropout=dropout, **sizes) for _ in range(layers)
        )
        self.project_out = NormedLinear(size, embedding_size)
        self.output = nn.Linear(embedding_size, vocabulary)

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that an encoder may share, layer by layer."""
        return [[layer.convolution] for layer in self.layers]

    def begin(self, memory: Memory) -> tuple[ConvMemory, ConvState]:
        """Return what is constant for each source, and the state before the first step.

        Args:
            memory: what the encoder returned for b sources.
        """
        states = memory.states.unsqueeze(1)
        # section 3.4: a mean of m vectors has a variance m times smaller; done to the values, it is done once
        lengths = memory.mask.sum(dim=1).to(states.dtype)[:, None, None, None]
        reading = ConvMemory(
            mask=memory.mask,
            keys=tuple(layer.cross.prepare(states) for layer in self.layers),
            values=memory.contents.unsqueeze(1) * lengths.sqrt(),
        )
        padding = states.new_zeros(states.shape[0], self.width - 1, self.size)
        position = states.new_zeros(states.shape[0], dtype=torch.long)
        return reading, ConvState(past=(padding,) * len(self.layers), position=position)

    def step(
        self, tokens: Int[Tensor, " n"], state: ConvState, reading: ConvMemory
    ) -> tuple[Float[Tensor, "n v"], ConvState]:
        """Return the logits [n v] of the next token after one more token, and the state after it.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            reading: what `begin` returned, one row a source.
        """
        features, state = self._advance(tokens.unsqueeze(1), state, reading)
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t e"]:
        """Return what the output layer sees after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        reading, state = self.begin(memory)
        return self._advance(tokens, state, reading)[0]

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        return self.output(self.features(tokens, memory))

    def _advance(
        self, tokens: Int[Tensor, "n t"], state: ConvState, reading: ConvMemory
    ) -> tuple[Float[Tensor, "n t e"], ConvState]:
        """Compute the next t positions at once: a step has one of them, training has all."""
        positions = state.position.unsqueeze(1) + torch.arange(tokens.shape[1], device=tokens.device)
        embedded = self.dropout(self.embed(tokens) + self.position.at(positions))
        hidden, pasts = self.project_in(embedded), []
        for layer, past, keys in zip(self.layers, state.past, reading.keys, strict=True):
            hidden, past = layer(hidden, past, embedded, keys, reading)
            pasts.append(past)
        state = ConvState(past=tuple(pasts), position=state.position + tokens.shape[1])
        return self.dropout(self.project_out(hidden)), state
