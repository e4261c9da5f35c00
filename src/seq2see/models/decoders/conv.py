"""The convolutional decoder: each layer sees the last few places, and attends to the memory by itself."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.readers import SOFTMAX, look
from seq2see.nn.attend import Attend
from seq2see.nn.convolution import HALF, GatedConvolution, NormedLinear
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed

LEARNED = Part("position", "learned")
SCALED_DOT = Part("score", "scaled_dot")


@dataclass(frozen=True)
class ConvReading:
    """What is constant while one source is read: keys for each layer, and the values they share."""

    mask: Bool[Tensor, "b s"]
    keys: tuple[Float[Tensor, "b 1 s _"], ...]
    values: Float[Tensor, "b 1 s m"]


@dataclass(frozen=True)
class ConvState:
    """Where a convolutional decoder stands: the last width - 1 inputs of each layer, and the next place."""

    past: tuple[Float[Tensor, "n w d"], ...]
    place: Int[Tensor, " n"]


class ConvLayer(nn.Module):
    """Gehring et al. 2017, eq. 1-2: h = conv(x) + x, d = W h + b + g, c = attend(d), h + c; sums times sqrt(0.5)."""

    def __init__(
        self,
        *,
        size: int,
        width: int,
        embedding_size: int,
        memory_size: int,
        score: Part,
        normalise: Part,
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
        reading: ConvReading,
    ) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n w d"]]:
        """The outputs at the next t places, and the inputs that places after them will see."""
        seen = torch.cat([past, self.dropout(inputs)], dim=1)
        hidden = (self.convolution(seen) + inputs) * HALF
        query = (self.query(hidden) + embedded) * HALF
        context = look(self.cross, query, keys, reading.values, reading.mask)
        return (hidden + self.context(context)) * HALF, seen[:, inputs.shape[1] :]


class ConvDecoder(nn.Module):
    """Writes a target with causal convolutions; training runs over all places at once."""

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 4,
        width: Count = 3,
        position: Part = LEARNED,
        score: Part = SCALED_DOT,
        normalise: Part = SOFTMAX,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.size, self.width = size, width
        self.embed = Embed(vocabulary, embedding_size)
        self.position = position(size=embedding_size)
        self.dropout = Dropout(dropout)
        self.widen = NormedLinear(embedding_size, size, kept=1 - dropout)
        sizes = {"size": size, "width": width, "embedding_size": embedding_size, "memory_size": memory_size}
        self.layers: Any = nn.ModuleList(
            ConvLayer(score=score, normalise=normalise, dropout=dropout, **sizes) for _ in range(layers)
        )
        self.narrow = NormedLinear(size, embedding_size)
        self.output = nn.Linear(embedding_size, vocabulary)

    def own_layers(self) -> list[list[nn.Module]]:
        """What an encoder may share, layer by layer."""
        return [[layer.convolution] for layer in self.layers]

    def begin(self, memory: Memory) -> tuple[ConvReading, ConvState]:
        """What is constant for each source, and the state before the first step."""
        states = memory.states.unsqueeze(1)
        # section 3.4: a mean of m vectors has a variance m times smaller; done to the values, it is done once
        lengths = memory.mask.sum(dim=1).to(states.dtype)[:, None, None, None]
        reading = ConvReading(
            mask=memory.mask,
            keys=tuple(layer.cross.prepare(states) for layer in self.layers),
            values=memory.contents.unsqueeze(1) * lengths.sqrt(),
        )
        nothing = states.new_zeros(states.shape[0], self.width - 1, self.size)
        place = torch.zeros(states.shape[0], dtype=torch.long)
        return reading, ConvState(past=(nothing,) * len(self.layers), place=place)

    def step(
        self, tokens: Int[Tensor, " n"], state: ConvState, reading: ConvReading
    ) -> tuple[Float[Tensor, "n v"], ConvState]:
        """Logits of the next token after one more token."""
        features, state = self._advance(tokens.unsqueeze(1), state, reading)
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t e"]:
        """Teacher forcing: what the output layer sees after each token."""
        reading, state = self.begin(memory)
        return self._advance(tokens, state, reading)[0]

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def _advance(
        self, tokens: Int[Tensor, "n t"], state: ConvState, reading: ConvReading
    ) -> tuple[Float[Tensor, "n t e"], ConvState]:
        """The next t places at once: a step has one of them, training has all."""
        places = state.place.unsqueeze(1) + torch.arange(tokens.shape[1])
        embedded = self.dropout(self.embed(tokens) + self.position.at(places))
        hidden, pasts = self.widen(embedded), []
        for layer, past, keys in zip(self.layers, state.past, reading.keys, strict=True):
            hidden, past = layer(hidden, past, embedded, keys, reading)
            pasts.append(past)
        state = ConvState(past=tuple(pasts), place=state.place + tokens.shape[1])
        return self.dropout(self.narrow(hidden)), state
