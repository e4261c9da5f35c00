"""The cell of the LSTM-Network: it attends to all its past states where an LSTM sees the last one alone.

Cheng, Dong & Lapata 2016 (arXiv:1601.06733) call the list of past hidden states h_i the hidden tape, and the list of
past LSTM memories c_i the memory tape.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.nn.attend import Attend
from seq2see.nn.key_value_cache import KeyValueCache, Written, append
from seq2see.nn.multihead import KeysValues, head_width, merge_heads, split_heads
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Score

# logs of the first and of the last head's recency slope at the start; the first puts nine tenths on the last state
FIRST_LOG_SLOPE, LAST_LOG_SLOPE = 1.0, -2.0


@dataclass(frozen=True)
class Tape:
    """Holds the hidden tape and the memory tape of a cell, and what its last step leaves for the next.

    Args:
        past: the keys of every h_i, and as values h_i and c_i side by side, for each head.
        hidden: the last h, [n d]; zeros before the first input.
        summary_query: W_h~ h~_{t-1}, which the next query adds, [n d]; zeros before the first input.
    """

    past: KeyValueCache
    hidden: Float[Tensor, "n d"]
    summary_query: Float[Tensor, "n d"]


class RecencyScore(Score):
    """Scores by score(q, k_i) = v . tanh(q + W k_i) - slope (number of keys after k_i), for projected queries.

    The first term is the additive score of Cheng, Dong & Lapata 2016 (arXiv:1601.06733), eq. 4, whose query is
    projected before the loop over the steps. The second term gives the most recent key the largest weight at the start
    of training; each head learns its own slope.

    Args:
        size: channels of the queries, all heads together.
        key_size: channels of the keys before W.
        heads: number of heads.
        recency: add the second term; False is the score of the paper.
    """

    def __init__(self, *, size: int, key_size: int, heads: int = 1, recency: bool = False) -> None:
        super().__init__()
        self.heads = heads
        slopes = torch.linspace(FIRST_LOG_SLOPE, LAST_LOG_SLOPE, heads)
        self.log_slope = nn.Parameter(slopes) if recency else None
        self.key = nn.Linear(key_size, size, bias=False)
        self.vector = nn.Parameter(torch.empty(size).uniform_(-1, 1) / math.sqrt(size))

    def prepare(self, keys: Float[Tensor, "b 1 s k"]) -> Float[Tensor, "b h s d"]:
        return split_heads(self.key(keys[:, 0]), self.heads)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        joined = (query.unsqueeze(3) + keys.unsqueeze(2)).tanh()
        scores = (joined * self.vector.view(self.heads, 1, 1, -1)).sum(dim=-1)
        if self.log_slope is None:
            return scores
        keys_after = torch.arange(keys.shape[2] - 1, -1, -1, dtype=scores.dtype, device=scores.device)
        return scores - self.log_slope.exp()[:, None, None] * keys_after


class LstmnCell(nn.Module):
    """Advances an LSTM whose last state is replaced by an attention over all its past states.

    Cheng, Dong & Lapata 2016 (arXiv:1601.06733), eq. 4-9, with sums over all inputs i before t:

    a_i = v . tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1}), s = softmax(a), h~_t = sum_i s_i h_i, c~_t = sum_i s_i c_i;
    gates i, f, o and candidate c^ from W [h~_t; x_t]; c_t = f c~_t + i c^, h_t = o tanh(c_t).

    Args:
        input_size: channels of x_t.
        size: channels d of h and c; a multiple of `heads`.
        context_size: channels of a context vector that is read beside x_t; 0 for none.
        heads: how many attentions over the past there are, each for its channels of h and c; the paper has one.
        recency: let a_i also fall with the number of inputs since i, so that the cell is nearly an LSTM at the start.
    """

    def __init__(
        self, *, input_size: int, size: int, context_size: int = 0, heads: int = 1, recency: bool = True
    ) -> None:
        super().__init__()
        self.size, self.heads, self.width = size, heads, head_width(size, heads)
        # each projection gives four gates and a query side by side: one product a step
        self.project_input = nn.Linear(input_size, 5 * size)
        self.project_context = nn.Linear(context_size, 5 * size, bias=False) if context_size else None
        self.project_summary = nn.Linear(size, 5 * size, bias=False)
        self.self_attention = Attend(
            score=RecencyScore(size=size, key_size=size, heads=heads, recency=recency), normalise=Softmax()
        )
        for layer, fill in (
            (self.project_input, nn.init.xavier_uniform_),
            (self.project_summary, nn.init.orthogonal_),
        ):
            for block in layer.weight.data.chunk(5):
                fill(block)
        with torch.no_grad():
            self.project_input.bias.zero_()
            self.project_input.bias[size : 2 * size] = 1.0  # forget gates start open

    def begin(self, like: Float[Tensor, "n ..."]) -> Tape:
        """Return empty tapes.

        Args:
            like: gives the number of rows, the type and the device, [n ...].
        """
        rows, size = like.shape[0], self.size
        empty = like.new_zeros(rows, self.heads, 0, 2 * self.width)
        past = KeyValueCache(empty[..., : self.width], empty, Written())
        return Tape(past, hidden=like.new_zeros(rows, size), summary_query=like.new_zeros(rows, size))

    def advance(
        self,
        projected: Float[Tensor, "n g"],
        tape: Tape,
        length: int,
        added_memory: Float[Tensor, "n d"] | None = None,
    ) -> Tape:
        """Return the tapes with one more input.

        Args:
            projected: what `project_input` returned for the input, plus what `project_context` returned for a context
                if there is one, [n 5d].
            tape: the tapes so far.
            length: the number of inputs on them.
            added_memory: a vector that is added to c_t, from deep fusion with a source, [n d]; None adds nothing.
        """
        gates, query = projected.split([4 * self.size, self.size], dim=-1)
        keys, values = tape.past.keys[:, :, :length], tape.past.values[:, :, :length]
        queries = split_heads((query + tape.summary_query).unsqueeze(1), self.heads)
        context = self.self_attention(queries, keys, values, past=True)
        hidden_summary, memory_summary = (summary[:, 0] for summary in _split_tapes(context))
        summary_gates, summary_query = self.project_summary(hidden_summary).split([4 * self.size, self.size], dim=-1)
        write, forget, candidate, output = (gates + summary_gates).chunk(4, dim=-1)
        memory = forget.sigmoid() * memory_summary + write.sigmoid() * candidate.tanh()
        memory = memory if added_memory is None else memory + added_memory
        hidden = output.sigmoid() * memory.tanh()
        values = torch.cat([split_heads(part.unsqueeze(1), self.heads) for part in (hidden, memory)], dim=-1)
        entry = KeysValues(self.self_attention.prepare(hidden[:, None, None]), values)
        return Tape(append(tape.past, length, entry), hidden, summary_query)


def read_tapes(tape: Tape, length: int) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n t d"]]:
    """Return the hidden tape and the memory tape, [n t d] each.

    Args:
        tape: the tapes.
        length: the number of inputs t on them; their cache may have room for more.
    """
    return _split_tapes(tape.past.values[:, :, :length])


def _split_tapes(values: Float[Tensor, "n h t _"]) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n t d"]]:
    """Part [h; c] of every head into h and c of all heads side by side."""
    hidden, memory = values.chunk(2, dim=-1)
    return merge_heads(hidden), merge_heads(memory)
