"""The LSTM-Network as decoder: it attends to its own past, and to the source through a reader or by deep fusion."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.models.readers.attention_readers import attend_to_source
from seq2see.models.readers.reader import Reader, ReaderMemory
from seq2see.nn.attend import Attend
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.lstmn_cell import LstmnCell, RecencyScore, Tape, read_tapes
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.multihead import KeysValues
from seq2see.nn.normalise import Softmax


@dataclass(frozen=True)
class LstmnLayerState:
    """Holds the state of a layer: its tapes, and with deep fusion W_g~ g~_{t-1}, which its next query adds."""

    tape: Tape
    source_query: Float[Tensor, "n d"] | None


@dataclass(frozen=True)
class LstmnState:
    """Holds the state of the decoder: its layers, the reader's context, and the step's number."""

    layers: tuple[LstmnLayerState, ...]
    context: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]  # the same for all rows


@dataclass(frozen=True)
class LstmnMemory:
    """Holds what is constant for each source: as the reader sees it, and as each layer with deep fusion does."""

    reader: ReaderMemory
    sources: tuple[KeysValues | None, ...]


class DeepFusion(nn.Module):
    """Attends to both tapes of the source, and computes what is added to the memory of the target.

    Cheng et al. 2016 (arXiv:1601.06733), eq. 10-14, with the hidden tape g_j and the memory tape m_j of the source:

    b_j = u . tanh(W_g g_j + W_x x_t + W_g~ g~_{t-1}), p = softmax(b), g~_t = sum_j p_j g_j, m~_t = sum_j p_j m_j;
    r_t = sigmoid(W_r [g~_t; x_t]), and r_t m~_t is added to the memory c_t of the target.

    Args:
        input_size: channels of x_t.
        size: channels d of g, m and c.
        context_size: channels of a reader's context beside x_t; 0 for none.
    """

    def __init__(self, *, input_size: int, size: int, context_size: int) -> None:
        super().__init__()
        self.size = size
        # each projection gives a gate and a query side by side
        self.project_input = nn.Linear(input_size, 2 * size)
        self.project_context = nn.Linear(context_size, 2 * size, bias=False) if context_size else None
        self.project_summary = nn.Linear(size, 2 * size, bias=False)
        self.cross = Attend(score=RecencyScore(size=size, key_size=size), normalise=Softmax())

    def begin(self, memory: Memory) -> KeysValues:
        """Return both tapes of the source as keys and values."""
        if memory.cells is None:
            raise ConfigError(
                "deep fusion reads the memory tape of the source, which only an encoder of kind lstmn has; take "
                "that encoder, or fusion: shallow and a reader that attends."
            )
        tapes = torch.cat([memory.states, memory.cells], dim=-1).unsqueeze(1)
        return KeysValues(self.cross.prepare(memory.states.unsqueeze(1)), tapes)

    def forward(
        self,
        projected: Float[Tensor, "n g"],
        source_query: Float[Tensor, "n d"],
        source: KeysValues,
        mask: Bool[Tensor, "b s"],
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """Return r_t m~_t, and W_g~ g~_t for the next query."""
        gate, query = projected.chunk(2, dim=-1)
        queries = (query + source_query).unsqueeze(1)
        context = attend_to_source(self.cross, queries, source.keys, source.values, mask)
        hidden_summary, memory_summary = context[:, 0].chunk(2, dim=-1)
        summary_gate, source_query = self.project_summary(hidden_summary).chunk(2, dim=-1)
        return (gate + summary_gate).sigmoid() * memory_summary, source_query


class LstmnLayer(nn.Module):
    """Is one layer: an LSTMN cell and, if there is deep fusion, its attention to the source.

    Args:
        input_size: channels i of an input.
        size: channels d of a state.
        context_size: channels of a reader's context beside the input; 0 for none.
        fused: whether there is deep fusion with the source.
        heads: attentions of the cell over its past.
        recency: whether they start at the most recent state.
    """

    def __init__(
        self, *, input_size: int, size: int, context_size: int, fused: bool, heads: int, recency: bool
    ) -> None:
        super().__init__()
        sizes = {"input_size": input_size, "size": size, "context_size": context_size}
        self.cell = LstmnCell(**sizes, heads=heads, recency=recency)
        self.fusion = DeepFusion(**sizes) if fused else None

    def begin(self, memory: Memory) -> tuple[KeysValues | None, LstmnLayerState]:
        """Return the source as this layer sees it, and the state before the first step."""
        tape = self.cell.begin(memory.states)
        if self.fusion is None:
            return None, LstmnLayerState(tape, None)
        return self.fusion.begin(memory), LstmnLayerState(tape, torch.zeros_like(tape.hidden))

    def project_input(self, inputs: Float[Tensor, "*n i"]) -> Float[Tensor, "*n g"]:
        """Compute the terms of an input in all gates and queries of the cell and the fusion."""
        projected = self.cell.project_input(inputs)
        return projected if self.fusion is None else torch.cat([projected, self.fusion.project_input(inputs)], dim=-1)

    def add_context(self, projected: Float[Tensor, "*n g"], context: Float[Tensor, "*n f"]) -> Float[Tensor, "*n g"]:
        """Add the terms of a reader's context, if this layer takes one in."""
        if self.cell.project_context is None:
            return projected
        added = self.cell.project_context(context)
        if self.fusion is not None and self.fusion.project_context is not None:
            added = torch.cat([added, self.fusion.project_context(context)], dim=-1)
        return projected + added

    def forward(
        self,
        projected: Float[Tensor, "n g"],
        state: LstmnLayerState,
        length: int,
        source: KeysValues | None,
        mask: Bool[Tensor, "b s"],
    ) -> LstmnLayerState:
        """Take one step, the number `length`."""
        if self.fusion is None or source is None or state.source_query is None:
            return LstmnLayerState(self.cell.advance(projected, state.tape, length), None)
        for_cell, for_fusion = projected.split([5 * self.cell.size, 2 * self.cell.size], dim=-1)
        added_memory, source_query = self.fusion(for_fusion, state.source_query, source, mask)
        return LstmnLayerState(self.cell.advance(for_cell, state.tape, length, added_memory), source_query)


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
        """Return what is constant for each source, and the state before the first step: empty tapes."""
        begun = [layer.begin(memory) for layer in self.layers]
        rows = memory.states.shape[0]
        state = LstmnState(
            layers=tuple(state for _, state in begun),
            context=memory.states.new_zeros(rows, self.reader.context_size),
            position=torch.zeros(rows, dtype=torch.long),
        )
        return LstmnMemory(self.reader.begin(memory), tuple(source for source, _ in begun)), state

    def step(
        self, tokens: Int[Tensor, " n"], state: LstmnState, reading: LstmnMemory
    ) -> tuple[Float[Tensor, "n v"], LstmnState]:
        """Return the logits of the next token after one more token, and the state after it."""
        embedded = self.dropout(self.embed(tokens))
        hidden, state = self._advance(self.layers[0].project_input(embedded), state, int(state.position[0]), reading)
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), state.context.unsqueeze(1))
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Return what the output layer sees after each token (teacher forcing)."""
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        run = self._run_sequentially if self.reader.sequential else self._run_layers
        hidden, context = run(embedded, state, reading)
        return self.reader.features(hidden, embedded, context)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Return the logits of the next token after each token (teacher forcing)."""
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
        positions = state.position.unsqueeze(1) + torch.arange(steps)
        context = state.context.unsqueeze(1).expand(-1, steps, -1)
        before = self.reader.read_before(embedded, context, positions, reading.reader)
        hidden = embedded
        for number, (layer, one, source) in enumerate(zip(self.layers, state.layers, reading.sources, strict=True)):
            inputs = layer.add_context(layer.project_input(self.dropout(hidden) if number else hidden), before)
            for length, projected in enumerate(inputs.unbind(dim=1)):
                one = layer(projected, one, length, source, reading.reader.mask)
            hidden, _ = read_tapes(one.tape, steps)
        return hidden, self.reader.read_after(hidden, before, positions, reading.reader)
