"""How a recurrent decoder reads the memory: a part of its own, so that the classic models are configurations.

A reader may put a vector beside the cell's input (`before`), may read with the new state (`after`), and says what the
output layer sees (`features`). All of them take [n t .]: t = 1 while stepping, all steps at once wherever no step
needs what an earlier one read. `positions` are the numbers of the steps, from 0.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.nn.attend import Attend
from seq2see.nn.dropout import Dropout
from seq2see.nn.tally import keep_tally

SOFTMAX = Part("normalise", "softmax")


@dataclass(frozen=True)
class Reading:
    """What a reader computes once per source; one row a source, however many hypotheses read it."""

    mask: Bool[Tensor, "b s"]
    keys: Float[Tensor, "b 1 s k"] | None = None
    values: Float[Tensor, "b 1 s d"] | None = None
    summary: Float[Tensor, "b d"] | None = None

    def keep_tally(self) -> "Reading":
        """The same for the steps of a walk, which share its gradients."""
        keys, values = (None if each is None else keep_tally(each) for each in (self.keys, self.values))
        return replace(self, keys=keys, values=values)


def look(
    attend: Attend,
    query: Float[Tensor, "n t q"],
    keys: Float[Tensor, "b 1 s _"],
    values: Float[Tensor, "b 1 s m"],
    mask: Bool[Tensor, "b s"],
    positions: Int[Tensor, "n t"] | None = None,
) -> Float[Tensor, "n t m"]:
    """Attend with every query; hypotheses of one source are further queries on its memory, never copies of it."""
    queries = query.reshape(mask.shape[0], 1, -1, query.shape[-1])
    places = None if positions is None else positions.reshape(mask.shape[0], -1)
    context: Tensor = attend(queries, keys, values, mask[:, None, None, :], places)
    return context.reshape(*query.shape[:2], -1)


class Reader(nn.Module):
    """Base of the readers: by itself, reads nothing."""

    feeds = 0  # width of what it puts beside the cell's input
    loops = False  # whether that depends on the step before, so that training has to walk step by step
    bottom = False  # whether it looks with the bottom layer, and every layer gets what it read
    fed_size = 0  # width of what one step leaves for the next
    features_size: int  # width of what the output layer sees

    def begin(self, memory: Memory) -> Reading:
        """What is constant while one source is read."""
        return Reading(mask=memory.mask)

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        """The vector beside the cell's input, from the state and the vector that the step before left."""
        return fed

    def after(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        """The vector this step leaves, from the new state and what `before` gave."""
        return fed

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], fed: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        """What the output layer sees."""
        return hidden


class Nothing(Reader):
    """Sutskever et al. 2014: the memory is in the initial state, and nowhere else."""

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.features_size = size


class Summary(Reader):
    """Cho et al. 2014, eq. 9-10: the summary c stands beside every input and at every output."""

    def __init__(self, *, size: int, memory_size: int, embedding_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(memory_size, size)
        self.feeds = self.fed_size = self.features_size = size
        self.readout = Maxout(input_size=size + embedding_size + size, size=size, dropout=dropout)

    def begin(self, memory: Memory) -> Reading:
        if memory.summary is None:
            raise ConfigError("the summary reader needs an encoder with a summary; use an attending reader instead.")
        return Reading(mask=memory.mask, summary=self.project(memory.summary).tanh())

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        assert reading.summary is not None
        hypotheses = hidden.shape[0] // reading.summary.shape[0]
        return reading.summary.repeat_interleave(hypotheses, dim=0).unsqueeze(1).expand(-1, hidden.shape[1], -1)

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], fed: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return self.readout(torch.cat([hidden, embedded, fed], dim=-1))


class Attending(Reader):
    """Base of the readers that attend."""

    def __init__(self, *, size: int, memory_size: int, score: Part, normalise: Part, window: Part | None) -> None:
        super().__init__()
        self.attend = Attend(
            score=score(query_size=size, key_size=memory_size),
            normalise=normalise(),
            window=window(query_size=size) if window is not None else None,
        )

    def begin(self, memory: Memory) -> Reading:
        states = memory.states.unsqueeze(1)
        return Reading(mask=memory.mask, keys=self.attend.prepare(states), values=memory.contents.unsqueeze(1))

    def look(
        self, query: Float[Tensor, "n t d"], positions: Int[Tensor, "n t"], reading: Reading
    ) -> Float[Tensor, "n t m"]:
        """Attend with every query."""
        assert reading.keys is not None
        assert reading.values is not None
        return look(self.attend, query, reading.keys, reading.values, reading.mask, positions)


class Before(Attending):
    """Bahdanau et al. 2015, eq. 4-6: attend with the state before the step; the context enters the cell."""

    loops = True

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        embedding_size: int,
        score: Part,
        normalise: Part = SOFTMAX,
        window: Part | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.feeds = self.fed_size = memory_size
        self.features_size = size
        self.readout = Maxout(input_size=size + embedding_size + memory_size, size=size, dropout=dropout)

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        return self.look(hidden, positions, reading)

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], fed: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return self.readout(torch.cat([hidden, embedded, fed], dim=-1))


class Bottom(Attending):
    """Wu et al. 2016 (GNMT), section 3, eq. 4: attend with the bottom layer's output of the step before.

    a_i = sum_t p_t x_t, p = softmax(score(y_{i-1}, x_t)); a_i enters every layer of step i, and the output layer sees
    the top one alone. No layer above the bottom one changes what is read, so training walks the bottom one alone.
    """

    loops = bottom = True

    def __init__(
        self, *, size: int, memory_size: int, score: Part, normalise: Part = SOFTMAX, window: Part | None = None
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.feeds = self.fed_size = memory_size
        self.features_size = size

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        return self.look(hidden, positions, reading)


class After(Attending):
    """Luong et al. 2015, eq. 5 and section 3.3: h~ = tanh(W [context; hidden]), fed to the next step if wanted."""

    def __init__(
        self,
        *,
        size: int,
        memory_size: int,
        score: Part,
        normalise: Part = SOFTMAX,
        window: Part | None = None,
        input_feeding: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(size=size, memory_size=memory_size, score=score, normalise=normalise, window=window)
        self.loops = input_feeding
        self.feeds = size if input_feeding else 0
        self.fed_size = self.features_size = size
        self.combine = nn.Linear(memory_size + size, size, bias=False)
        self.dropout = Dropout(dropout)

    def before(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        return fed if self.feeds else fed[..., :0]

    def after(
        self,
        hidden: Float[Tensor, "n t d"],
        fed: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        reading: Reading,
    ) -> Float[Tensor, "n t _"]:
        combined: Tensor = self.combine(torch.cat([self.look(hidden, positions, reading), hidden], dim=-1))
        return self.dropout(combined.tanh())

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], fed: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return fed


class Maxout(nn.Module):
    """Bahdanau et al. 2015, appendix A.2.2: the larger of each two neighbours, a deep output with one layer."""

    def __init__(self, *, input_size: int, size: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(input_size, 2 * size)
        self.dropout = Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "n t i"]) -> Float[Tensor, "n t o"]:
        pairs = self.project(inputs).unflatten(-1, (-1, 2))
        return self.dropout(pairs.amax(dim=-1))
