"""The Transformer decoder: layers of masked self-attention, attention to the memory, and feed-forward."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.core.tree import map_tree
from seq2see.models.encoders.transformer_encoder import SCALED_DOT, SINUSOIDAL, SOFTMAX
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.key_value_cache import KeyValueCache, Written, append
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.multihead import KeysValues, MultiHead
from seq2see.nn.normalise import Normaliser
from seq2see.nn.position import Position
from seq2see.nn.score import Score
from seq2see.nn.transformer_block import AddNorm, FeedForward, Norm


@dataclass(frozen=True)
class TransformerState:
    """Holds the state of a Transformer decoder.

    Args:
        length: number of tokens read so far, the same for all rows.
        caches: for each layer the keys and values of these tokens.
    """

    length: int
    caches: tuple[KeyValueCache, ...]


@dataclass(frozen=True)
class TransformerMemory:
    """Holds what is constant for each source.

    Args:
        layers: for each layer the keys and values that its cross-attention projected from the memory.
        mask: True at real positions of the source, [b 1 1 s].
    """

    layers: tuple[KeysValues, ...]
    mask: Bool[Tensor, "b 1 1 s"]


class TransformerDecoder(nn.Module):
    """Writes a target with self-attention: every token attends to those before it and to the memory.

    Vaswani et al. 2017 (arXiv:1706.03762), section 3.1.

    Args:
        vocabulary: number of target tokens v.
        memory_size: channels m of the encoder's memory.
        size: channels d of a layer.
        inner_size: channels of the feed-forward network's hidden layer.
        layers: number of layers.
        heads: attention heads of each sublayer.
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
        memory_size: int,
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
        self.embed = Embed(vocabulary, size, scaled=True)
        self.position = position(size=size)
        self.dropout = Dropout(dropout)
        self.layers: TypedModuleList[TransformerDecoderLayer] = TypedModuleList(
            TransformerDecoderLayer(
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

    def begin(self, memory: Memory) -> tuple[TransformerMemory, TransformerState]:
        """Return what is constant for each source, and the state before the first step.

        Args:
            memory: what the encoder returned for b sources.
        """
        projected = (layer.cross.project_memory(memory.states, memory.values) for layer in self.layers)
        source = TransformerMemory(
            layers=tuple(map_tree(Tensor.contiguous, each) for each in projected),  # else every step copies them
            mask=memory.mask[:, None, None, :],
        )
        rows = memory.states.shape[0]
        caches = tuple(
            layer.empty_cache(memory.states.new_zeros(rows, 0, self.embed.weight.shape[1])) for layer in self.layers
        )
        return source, TransformerState(0, caches)

    def step(
        self, tokens: Int[Tensor, " n"], state: TransformerState, source: TransformerMemory
    ) -> tuple[Float[Tensor, "n v"], TransformerState]:
        """Return the logits [n v] of the next token after one more token, and the state after it.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            source: what `begin` returned, one row a source.
        """
        states = self.dropout(self.embed(tokens).unsqueeze(1) + self.position(state.length, 1))
        caches = []
        for layer, cache, memory in zip(self.layers, state.caches, source.layers, strict=True):
            states, cache = layer.step(states, cache, state.length, memory, source.mask)
            caches.append(cache)
        return self.output(self.norm(states)[:, 0]), TransformerState(state.length + 1, tuple(caches))

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t d"]:
        """Return what the output layer sees after each token (teacher forcing), all steps at once.

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        positions = torch.arange(tokens.shape[1], device=tokens.device).unsqueeze(0)
        states: Tensor = self.dropout(self.embed(tokens) + self.position.at(positions))
        mask = memory.mask[:, None, None, :]
        for layer in self.layers:
            states = layer(states, layer.cross.project_memory(memory.states, memory.values), mask)
        return self.norm(states)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        return self.output(self.features(tokens, memory))

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that an encoder may share, layer by layer."""
        return [[layer.self_attention, layer.feed_forward] for layer in self.layers]


class TransformerDecoderLayer(nn.Module):
    """Is one layer: masked self-attention, attention to the memory, feed-forward network.

    Args:
        size: channels d.
        memory_size: channels m of the memory.
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
        memory_size: int,
        inner_size: int,
        heads: int,
        norm: Norm,
        score: Part[Score],
        normalise: Part[Normaliser],
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHead(size=size, memory_size=size, heads=heads, score=score, normalise=normalise)
        self.cross = MultiHead(size=size, memory_size=memory_size, heads=heads, score=score, normalise=normalise)
        self.feed_forward = FeedForward(size=size, inner_size=inner_size)
        self.self_norm = AddNorm(size=size, norm=norm, dropout=dropout)
        self.cross_norm = AddNorm(size=size, norm=norm, dropout=dropout)
        self.feed_forward_norm = AddNorm(size=size, norm=norm, dropout=dropout)

    def forward(
        self, states: Float[Tensor, "b t d"], memory: KeysValues, mask: Bool[Tensor, "b 1 1 s"]
    ) -> Float[Tensor, "b t d"]:
        """Return the states of all positions at once.

        Args:
            states: the outputs of the layer below, [b t d].
            memory: the keys and values of the source for this layer.
            mask: True at real positions of the source, [b 1 1 s].
        """
        # no mask for padding: it comes after all positions that could attend to it
        states = self.self_norm(
            states, lambda x: self.self_attention(x, self.self_attention.project_memory(x), causal=True)
        )
        states = self.cross_norm(states, lambda x: self.cross(x, memory, mask))
        return self.feed_forward_norm(states, self.feed_forward)

    def empty_cache(self, states: Float[Tensor, "n 0 d"]) -> KeyValueCache:
        """Return a cache without any position.

        Args:
            states: an empty tensor [n 0 d], whose rows and type the cache takes.
        """
        empty = self.self_attention.project_memory(states)
        return KeyValueCache(empty.keys, empty.values, Written())

    def step(
        self,
        states: Float[Tensor, "n 1 d"],
        cache: KeyValueCache,
        length: int,
        memory: KeysValues,
        mask: Bool[Tensor, "b 1 1 s"],
    ) -> tuple[Float[Tensor, "n 1 d"], KeyValueCache]:
        """Return the state of one more position, and the cache with that position.

        Args:
            states: the output of the layer below at that position, [n 1 d].
            cache: the keys and values of the positions before; it may be written to in place.
            length: number of positions before; a cache may have room for more.
            memory: the keys and values of the source for this layer, with b rows; n is a multiple of b.
            mask: True at real positions of the source, [b 1 1 s].
        """
        grown = cache

        def attend_to_past(x: Tensor) -> Tensor:
            nonlocal grown
            grown = append(cache, length, self.self_attention.project_memory(x))
            seen = length + 1
            return self.self_attention(x, KeysValues(grown.keys[:, :, :seen], grown.values[:, :, :seen]), past=True)

        states = self.self_norm(states, attend_to_past)
        states = self.cross_norm(states, lambda x: self.cross(x, memory, mask))
        return self.feed_forward_norm(states, self.feed_forward), grown
