"""Readers that attend to the memory: before the step (Bahdanau), after it (Luong), or from the bottom layer (GNMT)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.models.readers.reader import Reader, ReaderMemory
from seq2see.nn.attend import Attend
from seq2see.nn.dropout import Dropout
from seq2see.nn.maxout import Maxout
from seq2see.nn.normalise import Normaliser
from seq2see.nn.score import Score
from seq2see.nn.window import Window

SOFTMAX = Part[Normaliser]("normalise", "softmax")


def attend_to_source(
    attend: Attend,
    query: Float[Tensor, "n t q"],
    keys: Float[Tensor, "b 1 s _"],
    values: Float[Tensor, "b 1 s m"],
    mask: Bool[Tensor, "b s"],
    positions: Int[Tensor, "n t"] | None = None,
) -> Float[Tensor, "n t m"]:
    """Attend with every query; hypotheses of one source are further queries on its memory, never copies of it.

    Args:
        attend: the attention.
        query: [n t q], where n is a multiple of b.
        keys: what `attend.prepare` returned.
        values: [b 1 s m].
        mask: True at real positions of the source.
        positions: the numbers of the queries in the target; only a window needs them.
    """
    queries = query.reshape(mask.shape[0], 1, -1, query.shape[-1])
    places = None if positions is None else positions.reshape(mask.shape[0], -1)
    context: Tensor = attend(queries, keys, values, mask[:, None, None, :], places)
    return context.reshape(*query.shape[:2], -1)


class AttentionReader(Reader):
    """Base of the readers that attend.

    Args:
        size: channels d of the hidden state, which is the query.
        memory_size: channels m of the memory's states.
        score: the score function.
        normalise: the normaliser.
        window: the window of local attention, if any.
    """

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        score: Part[Score],
        normalise: Part[Normaliser],
        window: Part[Window] | None,
    ) -> None:
        super().__init__()
        self.attend = Attend(
            score=score(query_size=size, key_size=memory_size),
            normalise=normalise(),
            window=window(query_size=size) if window is not None else None,
        )

    def begin(self, memory: Memory) -> ReaderMemory:
        states = memory.states.unsqueeze(1)
        return ReaderMemory(mask=memory.mask, keys=self.attend.prepare(states), values=memory.contents.unsqueeze(1))

    def attend_with(
        self, query: Float[Tensor, "n t d"], positions: Int[Tensor, "n t"], memory: ReaderMemory
    ) -> Float[Tensor, "n t m"]:
        """Return the context of every query.

        Args:
            query: the hidden states that attend, [n t d].
            positions: the numbers of the steps, from 0, [n t]; only a window needs them.
            memory: what `begin` returned.
        """
        assert memory.keys is not None
        assert memory.values is not None
        return attend_to_source(self.attend, query, memory.keys, memory.values, memory.mask, positions)


class BeforeReader(AttentionReader):
    """Attends with the state before the step: c_t = attend(h_{t-1}) enters the cell and the output layer.

    Bahdanau et al. 2015 (arXiv:1409.0473), eq. 4-6; the output layer sees maxout(W [h_t; E y_{t-1}; c_t]) as in
    appendix A.2.2.

    Args:
        size: channels d of the hidden state.
        memory_size: channels m of the memory's states.
        embedding_size: channels of the target embeddings.
        score: the score function; the paper has additive.
        normalise: the normaliser.
        window: the window of local attention, if any.
        dropout: the dropout rate before the output layer.
    """

    sequential = True

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        embedding_size: int,
        score: Part[Score],
        normalise: Part[Normaliser] = SOFTMAX,
        window: Part[Window] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.input_context_size = self.context_size = memory_size
        self.features_size = size
        self.readout = Maxout(input_size=size + embedding_size + memory_size, size=size, dropout=dropout)

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        return self.attend_with(hidden, positions, memory)

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], context: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return self.readout(torch.cat([hidden, embedded, context], dim=-1))


class BottomReader(AttentionReader):
    """Attends with the bottom layer's output of the step before, and every layer takes the context in.

    Wu et al. 2016 (GNMT, arXiv:1609.08144), section 3, eq. 4: a_i = sum_t p_t x_t with p = softmax(score(y_{i-1},
    x_t)); a_i enters every layer of step i, and the output layer sees the top layer alone. No layer above the bottom
    one changes the context, so that training loops over the steps of the bottom layer alone.

    Args:
        size: channels d of the hidden state.
        memory_size: channels m of the memory's states.
        score: the score function.
        normalise: the normaliser.
        window: the window of local attention, if any.
    """

    sequential = bottom_layer = True

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        score: Part[Score],
        normalise: Part[Normaliser] = SOFTMAX,
        window: Part[Window] | None = None,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.input_context_size = self.context_size = memory_size
        self.features_size = size

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        return self.attend_with(hidden, positions, memory)


class AfterReader(AttentionReader):
    """Attends with the state after the step: the output layer sees h~_t = tanh(W [attend(h_t); h_t]).

    Luong et al. 2015 (arXiv:1508.04025), eq. 5; with input feeding (section 3.3) h~_t also enters the next step.

    Args:
        size: channels d of the hidden state and of h~.
        memory_size: channels m of the memory's states.
        score: the score function.
        normalise: the normaliser.
        window: the window of local attention, if any.
        input_feeding: whether h~_t enters the next step; without it training computes all steps at once.
        dropout: the dropout rate of h~.
    """

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        score: Part[Score],
        normalise: Part[Normaliser] = SOFTMAX,
        window: Part[Window] | None = None,
        input_feeding: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.sequential = input_feeding
        self.input_context_size = size if input_feeding else 0
        self.context_size = self.features_size = size
        self.combine = nn.Linear(memory_size + size, size, bias=False)
        self.dropout = Dropout(dropout)

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        return context if self.input_context_size else context[..., :0]

    def read_after(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        combined: Tensor = self.combine(torch.cat([self.attend_with(hidden, positions, memory), hidden], dim=-1))
        return self.dropout(combined.tanh())

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], context: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return context
