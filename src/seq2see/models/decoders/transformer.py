"""The Transformer decoder: layers of masked self-attention, attention to the memory, and feed-forward."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.core.tree import map_tree
from seq2see.models.encoders.transformer import SCALED_DOT, SINUSOIDAL, SOFTMAX
from seq2see.nn.block import AddNorm, FeedForward, Norm
from seq2see.nn.cache import Cache, append
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.multihead import MultiHead, Remembered


@dataclass(frozen=True)
class TransformerState:
    """Where a Transformer decoder stands: how many tokens it has read, and a cache for each layer."""

    length: Int[Tensor, " n"]  # the same for all rows
    caches: tuple[Cache, ...]


@dataclass(frozen=True)
class Source:
    """What is constant for each source: the memory as each layer sees it."""

    layers: tuple[Remembered, ...]
    mask: Bool[Tensor, "b 1 1 s"]


class TransformerDecoder(nn.Module):
    """Vaswani et al. 2017, section 3.1: every token attends to those before it and to the memory."""

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
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
        self.embed = Embed(vocabulary, size, scaled=True)
        self.position = position(size=size)
        self.dropout = Dropout(dropout)
        self.layers: Any = nn.ModuleList(
            DecoderLayer(
                size=size,
                memory_size=memory_size,
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
        self.output = nn.Linear(size, vocabulary)
        nn.init.normal_(self.output.weight, std=size**-0.5)
        nn.init.zeros_(self.output.bias)

    def begin(self, memory: Memory) -> tuple[Source, TransformerState]:
        """What is constant for each source, and the state before the first step."""
        remembered = (layer.cross.remember(memory.states, memory.values) for layer in self.layers)
        source = Source(
            layers=tuple(map_tree(Tensor.contiguous, each) for each in remembered),  # else every step copies them
            mask=memory.mask[:, None, None, :],
        )
        rows = memory.states.shape[0]
        length = torch.zeros(rows, dtype=torch.long)
        caches = tuple(
            layer.empty_cache(memory.states.new_zeros(rows, 0, self.embed.weight.shape[1])) for layer in self.layers
        )
        return source, TransformerState(length, caches)

    def step(
        self, tokens: Int[Tensor, " n"], state: TransformerState, source: Source
    ) -> tuple[Float[Tensor, "n v"], TransformerState]:
        """Logits of the next token after one more token."""
        length = int(state.length[0])
        states = self.dropout(self.embed(tokens).unsqueeze(1) + self.position.at(state.length.unsqueeze(1)))
        caches = []
        for layer, cache, memory in zip(self.layers, state.caches, source.layers, strict=True):
            states, cache = layer.step(states, cache, length, memory, source.mask)
            caches.append(cache)
        return self.output(self.norm(states)[:, 0]), TransformerState(state.length + 1, tuple(caches))

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t d"]:
        """Teacher forcing: what the output layer sees after each token, all steps at once."""
        states: Tensor = self.dropout(self.embed(tokens) + self.position.at(torch.arange(tokens.shape[1]).unsqueeze(0)))
        mask = memory.mask[:, None, None, :]
        for layer in self.layers:
            states = layer(states, layer.cross.remember(memory.states, memory.values), mask)
        return self.norm(states)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def own_layers(self) -> list[list[nn.Module]]:
        """What an encoder may share, layer by layer."""
        return [[layer.own, layer.feed] for layer in self.layers]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, feed-forward."""

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        inner_size: int,
        heads: int,
        norm: Norm,
        score: Part,
        normalise: Part,
        dropout: float,
    ) -> None:
        super().__init__()
        self.own = MultiHead(size=size, memory_size=size, heads=heads, score=score, normalise=normalise)
        self.cross = MultiHead(size=size, memory_size=memory_size, heads=heads, score=score, normalise=normalise)
        self.feed = FeedForward(size=size, inner_size=inner_size)
        self.around_own = AddNorm(size=size, norm=norm, dropout=dropout)
        self.around_cross = AddNorm(size=size, norm=norm, dropout=dropout)
        self.around_feed = AddNorm(size=size, norm=norm, dropout=dropout)

    def forward(
        self, states: Float[Tensor, "b t d"], memory: Remembered, mask: Bool[Tensor, "b 1 1 s"]
    ) -> Float[Tensor, "b t d"]:
        # no mask for padding: it stands behind everything that could attend to it
        states = self.around_own(states, lambda x: self.own(x, self.own.remember(x), causal=True))
        states = self.around_cross(states, lambda x: self.cross(x, memory, mask))
        return self.around_feed(states, self.feed)

    def empty_cache(self, states: Float[Tensor, "n 0 d"]) -> Cache:
        """A cache with nothing in it."""
        nothing = self.own.remember(states)
        return Cache(nothing.keys, nothing.values, torch.zeros(len(states), dtype=torch.long))

    def step(
        self,
        states: Float[Tensor, "n 1 d"],
        cache: Cache,
        length: int,
        memory: Remembered,
        mask: Bool[Tensor, "b 1 1 s"],
    ) -> tuple[Float[Tensor, "n 1 d"], Cache]:
        """One position more, and the cache with it."""
        grown = cache

        def attend_to_past(x: Tensor) -> Tensor:
            nonlocal grown
            grown = append(cache, length, self.own.remember(x))
            seen = length + 1
            return self.own(x, Remembered(grown.keys[:, :, :seen], grown.values[:, :, :seen]), past=True)

        states = self.around_own(states, attend_to_past)
        states = self.around_cross(states, lambda x: self.cross(x, memory, mask))
        return self.around_feed(states, self.feed), grown
