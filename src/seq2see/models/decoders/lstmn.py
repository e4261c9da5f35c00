"""The LSTM-Network as decoder: it attends to its own past, and to the source beside that or inside its memory."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.models.readers import Reader, Reading, look
from seq2see.nn.attend import Attend
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.multihead import Remembered
from seq2see.nn.normalise import Softmax
from seq2see.nn.tape import Joined, Tape, TapeCell, unroll


@dataclass(frozen=True)
class LayerState:
    """Where a layer stands: its tape, and what its last look at the source adds to the next query, if it is fused."""

    tape: Tape
    asked: Float[Tensor, "n d"] | None


@dataclass(frozen=True)
class LstmnState:
    """Where the decoder stands: its layers, what the reader left, and the step's number."""

    layers: tuple[LayerState, ...]
    fed: Float[Tensor, "n f"]
    position: Int[Tensor, " n"]  # the same for all rows


@dataclass(frozen=True)
class LstmnReading:
    """What is constant for each source: as the reader sees it, and as each fused layer does."""

    reader: Reading
    sources: tuple[Remembered | None, ...]


class Fusion(nn.Module):
    """Cheng et al. 2016, eq. 10-13, with the hidden tape g_j and the memory tape m_j of the source:

    b_j = u . tanh(W_g g_j + W_x x_t + W_g~ g~_{t-1}), p = softmax(b), g~_t = sum p_j g_j, m~_t = sum p_j m_j;
    r_t = sigmoid(W_r [g~_t; x_t]), and r_t m~_t comes into the memory of the target (eq. 14).
    """

    def __init__(self, *, input_size: int, size: int, beside_size: int) -> None:
        super().__init__()
        self.size = size
        # a gate and a query, side by side
        self.enter = nn.Linear(input_size, 2 * size)
        self.beside = nn.Linear(beside_size, 2 * size, bias=False) if beside_size else None
        self.recall = nn.Linear(size, 2 * size, bias=False)
        self.cross = Attend(score=Joined(size=size, key_size=size), normalise=Softmax())

    def begin(self, memory: Memory) -> Remembered:
        """Both tapes of the source, as this layer sees them."""
        if memory.cells is None:
            raise ConfigError(
                "deep fusion reads the memory tape of the source, which only an encoder of kind lstmn leaves; take "
                "that encoder, or fusion: shallow and a reader that attends."
            )
        tapes = torch.cat([memory.states, memory.cells], dim=-1).unsqueeze(1)
        return Remembered(self.cross.prepare(memory.states.unsqueeze(1)), tapes)

    def forward(
        self,
        entered: Float[Tensor, "n g"],
        asked: Float[Tensor, "n d"],
        source: Remembered,
        mask: Bool[Tensor, "b s"],
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """What comes into the memory, and what this look adds to the next query."""
        gate, query = entered.chunk(2, dim=-1)
        seen = look(self.cross, (query + asked).unsqueeze(1), source.keys, source.values, mask)
        hidden, memory = seen[:, 0].chunk(2, dim=-1)
        recalled, asked = self.recall(hidden).chunk(2, dim=-1)
        return (gate + recalled).sigmoid() * memory, asked


class LstmnLayer(nn.Module):
    """A cell with its tape and, if the source is fused into its memory, a look at the source."""

    def __init__(self, *, input_size: int, size: int, beside_size: int, fused: bool, heads: int, recency: bool) -> None:
        super().__init__()
        sizes = {"input_size": input_size, "size": size, "beside_size": beside_size}
        self.cell = TapeCell(**sizes, heads=heads, recency=recency)
        self.fusion = Fusion(**sizes) if fused else None

    def begin(self, memory: Memory) -> tuple[Remembered | None, LayerState]:
        """The source as this layer sees it, and the state before the first step."""
        tape = self.cell.begin(memory.states)
        if self.fusion is None:
            return None, LayerState(tape, None)
        return self.fusion.begin(memory), LayerState(tape, torch.zeros_like(tape.hidden))

    def enter(self, inputs: Float[Tensor, "*n i"]) -> Float[Tensor, "*n g"]:
        """All that an input by itself tells the cell and the fusion."""
        made = self.cell.enter(inputs)
        return made if self.fusion is None else torch.cat([made, self.fusion.enter(inputs)], dim=-1)

    def join(self, entered: Float[Tensor, "*n g"], beside: Float[Tensor, "*n f"]) -> Float[Tensor, "*n g"]:
        """The same with what a reader puts beside the input, if this layer has a place for it."""
        if self.cell.beside is None:
            return entered
        made = self.cell.beside(beside)
        if self.fusion is not None and self.fusion.beside is not None:
            made = torch.cat([made, self.fusion.beside(beside)], dim=-1)
        return entered + made

    def forward(
        self,
        entered: Float[Tensor, "n g"],
        state: LayerState,
        length: int,
        source: Remembered | None,
        mask: Bool[Tensor, "b s"],
    ) -> LayerState:
        """One step."""
        if self.fusion is None or source is None or state.asked is None:
            return LayerState(self.cell.advance(entered, state.tape, length), None)
        own, theirs = entered.split([5 * self.cell.size, 2 * self.cell.size], dim=-1)
        added, asked = self.fusion(theirs, state.asked, source, mask)
        return LayerState(self.cell.advance(own, state.tape, length, added), asked)


class LstmnDecoder(nn.Module):
    """Cheng, Dong & Lapata 2016, section 4: writes a target with a tape of its own in every layer.

    fusion: shallow, where the reader alone stands between source and target; or deep, where every layer also looks
    at both tapes of the source and takes what it sees into its memory through a gate.
    heads: how many looks back, each for its share of the state; the paper has one.
    recency: whether a look back begins at what came last; without it, as in the paper, at everything alike.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        memory_size: int,
        reader: Part,
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
        feeds = [self.reader.feeds] + [self.reader.feeds if self.reader.bottom else 0] * (layers - 1)
        widths = [embedding_size] + [size] * (layers - 1)
        self.layers: Any = nn.ModuleList(
            LstmnLayer(input_size=width, size=size, beside_size=beside, fused=fused, heads=heads, recency=recency)
            for width, beside in zip(widths, feeds, strict=True)
        )
        self.output = nn.Linear(self.reader.features_size, vocabulary)

    def begin(self, memory: Memory) -> tuple[LstmnReading, LstmnState]:
        """What is constant for each source, and the state before the first step: empty tapes."""
        begun = [layer.begin(memory) for layer in self.layers]
        rows = memory.states.shape[0]
        state = LstmnState(
            layers=tuple(state for _, state in begun),
            fed=memory.states.new_zeros(rows, self.reader.fed_size),
            position=torch.zeros(rows, dtype=torch.long),
        )
        return LstmnReading(self.reader.begin(memory), tuple(source for source, _ in begun)), state

    def step(
        self, tokens: Int[Tensor, " n"], state: LstmnState, reading: LstmnReading
    ) -> tuple[Float[Tensor, "n v"], LstmnState]:
        """Logits of the next token after one more token."""
        embedded = self.dropout(self.embed(tokens))
        hidden, state = self._advance(self.layers[0].enter(embedded), state, int(state.position[0]), reading)
        features = self.reader.features(hidden.unsqueeze(1), embedded.unsqueeze(1), state.fed.unsqueeze(1))
        return self.output(features[:, 0]), state

    def features(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t o"]:
        """Teacher forcing: what the output layer sees after each token."""
        embedded = self.dropout(self.embed(tokens))
        reading, state = self.begin(memory)
        walk = self._walk if self.reader.loops else self._rise
        hidden, fed = walk(embedded, state, reading)
        return self.reader.features(hidden, embedded, fed)

    def forward(self, tokens: Int[Tensor, "b t"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Logits of the next token after each token."""
        return self.output(self.features(tokens, memory))

    def own_layers(self) -> list[list[nn.Module]]:
        """What an encoder may share, layer by layer."""
        return [[layer.cell] for layer in self.layers]

    def _advance(
        self, entered: Float[Tensor, "n g"], state: LstmnState, length: int, reading: LstmnReading
    ) -> tuple[Float[Tensor, "n d"], LstmnState]:
        """One step of all layers and the reader: the top hidden state, and the state after it."""
        looking = state.layers[0 if self.reader.bottom else -1].tape.hidden.unsqueeze(1)
        positions, mask = state.position.unsqueeze(1), reading.reader.mask
        beside = self.reader.before(looking, state.fed.unsqueeze(1), positions, reading.reader)
        hidden, after = looking[:, 0], []
        for number, (layer, one, source) in enumerate(zip(self.layers, state.layers, reading.sources, strict=True)):
            entered = layer.enter(self.dropout(hidden)) if number else entered
            after.append(layer(layer.join(entered, beside[:, 0]), one, length, source, mask))
            hidden = after[-1].tape.hidden
        fed = self.reader.after(hidden.unsqueeze(1), beside, positions, reading.reader)[:, 0]
        return hidden, LstmnState(tuple(after), fed, state.position + 1)

    def _walk(
        self, embedded: Float[Tensor, "b t e"], state: LstmnState, reading: LstmnReading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Step by step through all layers, where what is read goes back into them."""
        steps = []
        for length, entered in enumerate(self.layers[0].enter(embedded).unbind(dim=1)):
            hidden, state = self._advance(entered, state, length, reading)
            steps.append((hidden, state.fed))
        hiddens, feds = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return hiddens, feds

    def _rise(
        self, embedded: Float[Tensor, "b t e"], state: LstmnState, reading: LstmnReading
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t _"]]:
        """Layer by layer, each through all steps: nothing that is read goes back."""
        steps = embedded.shape[1]
        positions = state.position.unsqueeze(1) + torch.arange(steps)
        fed = state.fed.unsqueeze(1).expand(-1, steps, -1)
        beside = self.reader.before(embedded, fed, positions, reading.reader)
        hidden = embedded
        for number, (layer, one, source) in enumerate(zip(self.layers, state.layers, reading.sources, strict=True)):
            inputs = layer.join(layer.enter(self.dropout(hidden) if number else hidden), beside)
            for length, entered in enumerate(inputs.unbind(dim=1)):
                one = layer(entered, one, length, source, reading.reader.mask)
            hidden, _ = unroll(one.tape, steps)
        return hidden, self.reader.after(hidden, beside, positions, reading.reader)
