"""The layer of the LSTMN decoder: a cell that attends to its past, and by deep fusion to the source as well."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.models.readers.attention_readers import attend_to_source
from seq2see.nn.attend import Attend
from seq2see.nn.lstmn_cell import LstmnCell, RecencyScore, Tape
from seq2see.nn.multihead import KeysValues
from seq2see.nn.normalise import Softmax


@dataclass(frozen=True)
class LstmnLayerState:
    """Holds the state of a layer.

    Args:
        tape: the hidden tape and the memory tape of its cell.
        source_query: W_g~ g~_{t-1}, which the next query to the source adds, [n d]; None without deep fusion.
    """

    tape: Tape
    source_query: Float[Tensor, "n d"] | None


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
        """Return both tapes of the source as keys and values.

        Args:
            memory: what an encoder of kind lstmn returned for b sources.

        Raises:
            ConfigError: if the memory has no memory tape.
        """
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
        """Return r_t m~_t, and W_g~ g~_t for the next query.

        Args:
            projected: the terms of x_t, and of a reader's context if there is one, in gate and query side by side, [n
                2d].
            source_query: W_g~ g~_{t-1}, [n d]; zeros at the first step.
            source: what `begin` returned; n is a multiple of its rows b.
            mask: True at real positions of the source, [b s].
        """
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
        """Return the source as this layer sees it (None without deep fusion), and the state before the first step.

        Args:
            memory: what the encoder returned for b sources.
        """
        tape = self.cell.begin(memory.states)
        if self.fusion is None:
            return None, LstmnLayerState(tape, None)
        return self.fusion.begin(memory), LstmnLayerState(tape, torch.zeros_like(tape.hidden))

    def project_input(self, inputs: Float[Tensor, "*n i"]) -> Float[Tensor, "*n g"]:
        """Compute the terms of an input in all gates and queries: those of the cell, then those of the fusion.

        Args:
            inputs: embeddings, or the hidden states of the layer below, [n i].

        Returns:
            [n 5d] without deep fusion, [n 7d] with it.
        """
        projected = self.cell.project_input(inputs)
        return projected if self.fusion is None else torch.cat([projected, self.fusion.project_input(inputs)], dim=-1)

    def add_context(self, projected: Float[Tensor, "*n g"], context: Float[Tensor, "*n f"]) -> Float[Tensor, "*n g"]:
        """Add the terms of a reader's context, if this layer takes one in.

        Args:
            projected: what `project_input` returned, [n g].
            context: the context that the reader computed before the step, [n f].
        """
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
        """Take one step and return the state after it.

        Args:
            projected: the terms of the input and of the context, from `project_input` and `add_context`, [n g].
            state: the state before the step.
            length: number of steps taken before.
            source: what `begin` returned for the source; None without deep fusion.
            mask: True at real positions of the source, [b s].
        """
        if self.fusion is None or source is None or state.source_query is None:
            return LstmnLayerState(self.cell.advance(projected, state.tape, length), None)
        for_cell, for_fusion = projected.split([5 * self.cell.size, 2 * self.cell.size], dim=-1)
        added_memory, source_query = self.fusion(for_fusion, state.source_query, source, mask)
        return LstmnLayerState(self.cell.advance(for_cell, state.tape, length, added_memory), source_query)
