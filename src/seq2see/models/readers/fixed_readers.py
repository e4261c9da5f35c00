"""Readers without attention: the source is one vector, or only the initial state."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2see.core.errors import ConfigError
from seq2see.core.memory import Memory
from seq2see.models.readers.reader import Reader, ReaderMemory
from seq2see.nn.maxout import Maxout


class NoReader(Reader):
    """Reads nothing: the decoder knows the source by its initial state alone (Sutskever et al. 2014, arXiv:1409.3215).

    Args:
        size: channels d of the hidden state.
    """

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.features_size = size


class SummaryReader(Reader):
    """Reads the same summary c = tanh(V summary) at every step, beside the cell's input and before the output layer.

    Cho et al. 2014 (arXiv:1406.1078), eq. 9-10 and appendix A.1.2.

    Args:
        size: channels d of the hidden state and of c.
        memory_size: channels of the encoder's summary.
        embedding_size: channels of the target embeddings.
        dropout: the dropout rate before the output layer.
    """

    def __init__(self, *, size: int, memory_size: int, embedding_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(memory_size, size)
        self.input_context_size = self.context_size = self.features_size = size
        self.readout = Maxout(input_size=size + embedding_size + size, size=size, dropout=dropout)

    def begin(self, memory: Memory) -> ReaderMemory:
        if memory.summary is None:
            raise ConfigError("the summary reader needs an encoder with a summary; use a reader that attends instead.")
        return ReaderMemory(mask=memory.mask, summary=self.project(memory.summary).tanh())

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        assert memory.summary is not None
        hypotheses = hidden.shape[0] // memory.summary.shape[0]
        return memory.summary.repeat_interleave(hypotheses, dim=0).unsqueeze(1).expand(-1, hidden.shape[1], -1)

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], context: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        return self.readout(torch.cat([hidden, embedded, context], dim=-1))
