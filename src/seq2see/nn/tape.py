"""The cell of the LSTM-Network: it keeps a tape of all its past states, and attends to them where an LSTM has one."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2see.nn.attend import Attend
from seq2see.nn.cache import Cache, append
from seq2see.nn.multihead import Remembered, merge, share, split
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Score

STEEP, GENTLE = 1.0, -2.0  # logs of the slopes at first, of the first head (nine tenths on the last key) to the last


@dataclass(frozen=True)
class Tape:
    """What a cell has behind it: keys and [h; c] of every input, the last h, and what its last look adds to a query."""

    past: Cache
    hidden: Float[Tensor, "n d"]
    asked: Float[Tensor, "n d"]


class Joined(Score):
    """v . tanh(q + W k), for queries that are projected already: most of them is known before a loop begins.

    recency: less a learned slope for every key that came in between, so that at first the last one counts most; the
    slopes of several heads begin from steep to gentle.
    """

    def __init__(self, *, size: int, key_size: int, heads: int = 1, recency: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.log_slope = nn.Parameter(torch.linspace(STEEP, GENTLE, heads)) if recency else None
        self.key = nn.Linear(key_size, size, bias=False)
        self.vector = nn.Parameter(torch.empty(size).uniform_(-1, 1) / math.sqrt(size))

    def prepare(self, keys: Float[Tensor, "b 1 s k"]) -> Float[Tensor, "b h s d"]:
        return split(self.key(keys[:, 0]), self.heads)

    def forward(self, query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
        near = (query.unsqueeze(3) + keys.unsqueeze(2)).tanh()
        scores = (near * self.vector.view(self.heads, 1, 1, -1)).sum(dim=-1)
        if self.log_slope is None:
            return scores
        between = torch.arange(keys.shape[2] - 1, -1, -1, dtype=scores.dtype)
        return scores - self.log_slope.exp()[:, None, None] * between


class TapeCell(nn.Module):
    """Cheng, Dong & Lapata 2016, eq. 4-9, with h~, c~ summed over all inputs i before t:

    a_i = v . tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1}), s = softmax(a), h~_t = sum s_i h_i, c~_t = sum s_i c_i;
    gates i, f, o and c^ from W [h~_t; x_t]; c_t = f c~_t + i c^, h_t = o tanh(c_t). With recency, a_i is the less the
    longer ago, so that it begins nearly as an LSTM and learns what to look back for. With several heads, each has its
    share of h and c and looks back by itself: one can carry on what came last while another recalls.
    """

    def __init__(
        self, *, input_size: int, size: int, beside_size: int = 0, heads: int = 1, recency: bool = True
    ) -> None:
        super().__init__()
        self.size, self.heads, self.width = size, heads, share(size, heads)
        # four gates and a query, side by side: one product a step
        self.enter = nn.Linear(input_size, 5 * size)
        self.beside = nn.Linear(beside_size, 5 * size, bias=False) if beside_size else None
        self.recall = nn.Linear(size, 5 * size, bias=False)
        self.own = Attend(score=Joined(size=size, key_size=size, heads=heads, recency=recency), normalise=Softmax())
        for layer, fill in ((self.enter, nn.init.xavier_uniform_), (self.recall, nn.init.orthogonal_)):
            for block in layer.weight.data.chunk(5):
                fill(block)
        with torch.no_grad():
            self.enter.bias.zero_()
            self.enter.bias[size : 2 * size] = 1.0  # forget gates start open

    def begin(self, like: Float[Tensor, "n ..."]) -> Tape:
        """An empty tape, one row for each row of `like`."""
        rows, size = like.shape[0], self.size
        written = torch.zeros(rows, dtype=torch.long)
        empty = like.new_zeros(rows, self.heads, 0, 2 * self.width)
        past = Cache(empty[..., : self.width], empty, written)
        return Tape(past, hidden=like.new_zeros(rows, size), asked=like.new_zeros(rows, size))

    def advance(
        self, entered: Float[Tensor, "n g"], tape: Tape, length: int, added: Float[Tensor, "n d"] | None = None
    ) -> Tape:
        """One input more, from what `enter` (and `beside`) made of it; `added` comes into the memory from elsewhere."""
        gates, query = entered.split([4 * self.size, self.size], dim=-1)
        keys, values = tape.past.keys[:, :, :length], tape.past.values[:, :, :length]
        asking = split((query + tape.asked).unsqueeze(1), self.heads)
        hidden, memory = (part[:, 0] for part in _part(self.own(asking, keys, values, past=True)))
        recalled, asked = self.recall(hidden).split([4 * self.size, self.size], dim=-1)
        write, keep, new, show = (gates + recalled).chunk(4, dim=-1)
        memory = keep.sigmoid() * memory + write.sigmoid() * new.tanh()
        memory = memory if added is None else memory + added
        hidden = show.sigmoid() * memory.tanh()
        written = torch.cat([split(part.unsqueeze(1), self.heads) for part in (hidden, memory)], dim=-1)
        entry = Remembered(self.own.prepare(hidden[:, None, None]), written)
        return Tape(append(tape.past, length, entry), hidden, asked)


def unroll(tape: Tape, length: int) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n t d"]]:
    """The hidden states and the memories of the first `length` inputs."""
    return _part(tape.past.values[:, :, :length])


def _part(values: Float[Tensor, "n h t _"]) -> tuple[Float[Tensor, "n t d"], Float[Tensor, "n t d"]]:
    """The hidden states and the memories, of all heads side by side."""
    hidden, memory = values.chunk(2, dim=-1)
    return merge(hidden), merge(memory)
