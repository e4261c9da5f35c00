"""The LSTM-Network as decoder: it attends to its own past, and to the source through a reader or by deep fusion."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.decoders.lstmn_layer import LstmnLayer, LstmnLayerState
from seq2see.models.readers.reader import Reader, ReaderMemory
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.lstmn_cell import read_tapes
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.multihead import KeysValues


@dataclass(frozen=True)
class LstmnState:
    """Holds the state of the decoder.

    Args:
        layers: the state of each layer, from the lowest.
        context: the context that the reader left after the last step, [n f]; zeros before the first one.
        position: number of tokens read so far, the same for all rows, [n].
    """

    layers: tuple[LstmnLayerState, ...]
    context: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]


@dataclass(frozen=True)
class LstmnMemory:
    """Holds what is constant for each source.

    Args:
        reader: the source as the reader sees it.
        sources: the source as each layer sees it with deep fusion; None for each layer without.
    """

    reader: ReaderMemory
    sources: tuple[KeysValues | None, ...]


class LstmnDecoder(nn.Module):
    """Writes a target with LSTMN cells, which attend to their past (Cheng et al. 2016, arXiv:1601.06733, section 4).

    Args:
        vocabulary: number of target tokens v.
        memory_size: channels m of the encoder's memory.
        reader: how each step reads the memory.
        embedding_size: channels e of the target embeddings.
        size: channels d of a state.
        layers: number of layers.
        fusion: `shallow` reads the source through the reader alone; `deep` also lets every layer attend to both tapes
            of the source, and adds what it finds to its memory through a gate.
        heads: attentions over the past, each for its channels of the state; the paper has one.
        recency: whether these attentions start at the most recent state; in the paper they start uniform.
        dropout: the dropout rate of embeddings, between layers and in the reader.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        reader: Part[Reader],
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        fusion: Literal["shallow", "deep"] = "shallow",
        heads: Count = 1,
        recency: bool = True,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        fused = fusion == "deep"
        if fused and memory_size != size:
            raise ConfigError(
                "deep fusion adds the memory of the encoder to that of the decoder, so both must have one size; got "
                f"{memory_size} and {size}; give encoder and decoder the same size."
            )
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        sizes = {"size": size, "memory_size": memory_size, "embedding_size": embedding_size, "layers": layers}
        self.reader: Reader = reader(dropout=dropout, **sizes)
        upper_context = self.reader.input_context_size if self.reader.bottom_layer else 0
        contexts = [self.reader.input_context_size] + [upper_context] * (layers - 1)
        widths = [embedding_size] + [size] * (layers - 1)
        self.layers: TypedModuleList[LstmnLayer] = TypedModuleList(
            LstmnLayer(input_size=width, size=size, context_size=context, fused=fused, heads=heads, recency=recency)
            for width, context in zip(widths, contexts, strict=True)
        )
        self.output = nn.Linear(self.reader.features_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[LstmnMemory, LstmnState]:
        """Return what is constant for each source, and the state before the first step: empty tapes.

        Args:
            memory: what the encoder returned for b sources.
        """
        begun = [layer.begin(memory) for layer in self.layers]
        rows = memory.states.shape[0]
        state = LstmnState(
            layers=tuple(state for _, state in begun),
            context=memory.states.new_zeros(rows, self.reader.context_size),
            position=memory.states.new_zeros(rows, dtype=torch.long),
        )
        return LstmnMemory(self.reader.begin(memory), tuple(source for source, _ in begun)), state

    def step(
        self, tokens: Int[Tensor, " n"], state: LstmnState, reading: LstmnMemory
    ) -> tuple[Float[Tensor, "n v"], LstmnState]:
        """Return the logits [n v] of the next token after one more token, and the state after it.

        Args:
            tokens: the last token of each hypothesis, [n]; the start token at the first step.
            state: the state before these tokens, one row a hypothesis.
            reading: what `begin` returned, one row a source.
        """
        embedded = self.dropout(self.embed(tokens))
        hidden, state = self._advance(self.layers[0].project_input(embedded), state, int(state.position[0]), reading)
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), state.context.unsqueeze(1))
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Return what the output layer sees after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        run = self._run_sequentially if self.reader.sequential else self._run_layers
        hidden, context = run(embedded, state, reading)
        return self.reader.features(hidden, embedded, context)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing).

        Args:
            tokens: what the decoder reads, [b t]: the start token, then the target without its last token.
            memory: what the encoder returned for b sources.
        """
        return self.output(self.features(tokens, memory))

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that an encoder may share, layer by layer."""
        return [[layer.cell] for layer in self.layers]

    def _advance(
        self, projected: Float[Tensor, "n g"], state: LstmnState, length: int, reading: LstmnMemory
    ) -> tuple[Float[Tensor, "n d"], LstmnState]:
        """Take one step of all layers and the reader: return the top hidden state, and the state after it."""
        query = state.layers[0 if self.reader.bottom_layer else -1].tape.hidden.unsqueeze(1)
        positions, mask = state.position.unsqueeze(1), reading.reader.mask
        before = self.reader.read_before(query, state.context.unsqueeze(1), positions, reading.reader)
        hidden, after = query[:, 0], []
        for number, (layer, one, source) in enumerate(zip(self.layers, state.layers, reading.sources, strict=True)):
            projected = layer.project_input(self.dropout(hidden)) if number else projected
            after.append(layer(layer.add_context(projected, before[:, 0]), one, length, source, mask))
            hidden = after[-1].tape.hidden
        context = self.reader.read_after(hidden.unsqueeze(1), before, positions, reading.reader)[:, 0]
        return hidden, LstmnState(tuple(after), context, state.position + 1)

    def _run_sequentially(
        self, embedded: Float[Tensor, "b t e"], state: LstmnState, reading: LstmnMemory
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Go step by step through all layers, because the context enters the next step."""
        steps = []
        for length, projected in enumerate(self.layers[0].project_input(embedded).unbind(dim=1)):
            hidden, state = self._advance(projected, state, length, reading)
            steps.append((hidden, state.context))
        hiddens, contexts = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return hiddens, contexts

    def _run_layers(
        self, embedded: Float[Tensor, "b t e"], state: LstmnState, reading: LstmnMemory
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Go layer by layer, each through all steps: no context enters a later step."""
        steps = embedded.shape[1]
        positions = state.position.unsqueeze(1) + torch.arange(steps, device=embedded.device)
        context = state.context.unsqueeze(1).expand(-1, steps, -1)
        before = self.reader.read_before(embedded, context, positions, reading.reader)
        hidden = embedded
        for number, (layer, one, source) in enumerate(zip(self.layers, state.layers, reading.sources, strict=True)):
            inputs = layer.add_context(layer.project_input(self.dropout(hidden) if number else hidden), before)
            for length, projected in enumerate(inputs.unbind(dim=1)):
                one = layer(projected, one, length, source, reading.reader.mask)
            hidden, _ = read_tapes(one.tape, steps)
        return hidden, self.reader.read_after(hidden, before, positions, reading.reader)
