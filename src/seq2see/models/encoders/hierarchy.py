"""The encoder of documents: words into sentences, sentences into a document."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part
from seq2see.core.shapes import Count, Rate
from seq2see.core.trace import active_trace
from seq2see.core.tree import select
from seq2see.nn.cell import CellState, Direction
from seq2see.nn.dropout import Dropout, draw_mask
from seq2see.nn.embed import Embed
from seq2see.nn.ragged import Steps, list_steps, read_ragged

GRU, ATTENTION = Part("cell", "gru"), Part("pool", "attention")
UNKNOWN = 3  # the mark for a word that the vocabulary does not have
ALIKE = 0.8  # a sentence this much shorter than another is pooled with it
DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")


class Hierarchy(nn.Module):
    """Yang et al. 2016, section 2.2: a bidirectional GRU over the words of each sentence, a pool that reads them into
    one vector, and a bidirectional GRU over those vectors.

    Its states are the sentences, for a classifier's pool or a decoder to attend to; the words are in `levels`, a row
    for each real sentence in reading order.

    size: the width of one direction at both levels.
    pool: how a sentence becomes a vector: attention, mean or max.
    word_dropout: the share of words that training hides as if they were unknown.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part = GRU,
        pool: Part = ATTENTION,
        embedding_size: Count = 200,
        size: Count = 50,
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = 2 * size
        self.embed = Embed(vocabulary, embedding_size)
        self.words = nn.ModuleList(cell(input_size=embedding_size, size=size) for _ in DIRECTIONS)
        self.pool = pool(size=2 * size)
        self.sentences = nn.ModuleList(cell(input_size=2 * size, size=size) for _ in DIRECTIONS)
        self.dropout = Dropout(dropout)
        self.shown = max(256 - round(word_dropout * 256), 1)  # of 256 words, so many are shown in training

    def forward(self, tokens: Int[Tensor, "b u w"], mask: Bool[Tensor, "b u w"]) -> Memory:
        """Encode padded documents; what stands at masked positions changes nothing."""
        real = mask.any(dim=2)
        order = mask.sum(dim=2)[real].argsort(descending=True, stable=True)  # sentences, the longest first
        sorted_words = self.read_words(tokens[real][order], mask[real][order])
        back = order.argsort()
        words = select(sorted_words, back)
        # whoever looks sees all sentences in reading order
        vectors: Tensor = self.pool(words) if active_trace() else pool_groups(self.pool, sorted_words)[back]
        steps = list_steps(real)
        place = (real.flatten().cumsum(0) - 1)[steps.forward]  # of the sentence that each step reads
        states, last = _read_both(self.sentences, self.dropout(vectors)[place], steps)
        return Memory(self.dropout(states), real, summary=last[0], carry=(last,), levels=(words,))

    def read_words(self, tokens: Int[Tensor, "n w"], mask: Bool[Tensor, "n w"]) -> Memory:
        """The words of sentences, a row each; only real words are computed."""
        steps = list_steps(mask)
        ids = tokens.flatten()[steps.forward]
        if self.training and self.shown < 256:
            ids = ids.where(draw_mask(ids.shape, kept=self.shown), UNKNOWN)
        states, last = _read_both(self.words, self.dropout(self.embed(ids)), steps)
        return Memory(states, mask, summary=last[0])


def pool_groups(pool: nn.Module, words: Memory) -> Float[Tensor, "n d"]:
    """One vector for each row, from rows that come the longest first; neighbours in length together."""
    assert words.summary is not None
    lengths = words.mask.sum(dim=1).tolist()
    sizes = cut_groups(lengths)
    firsts = accumulate(sizes, initial=0)
    parts = zip(*(part.split(sizes) for part in (words.states, words.mask, words.summary)), strict=True)
    vectors = []
    for (states, mask, summary), first in zip(parts, firsts, strict=False):
        longest = lengths[first] if lengths else 1
        vectors.append(pool(Memory(states[:, :longest], mask[:, :longest], summary=summary)))
    return torch.cat(vectors)


def cut_groups(lengths: Sequence[int]) -> list[int]:
    """How many rows to compute together, from lengths in descending order, so that little of it is padding."""
    cuts, longest = [0], 0
    for place, length in enumerate(lengths):
        if length < ALIKE * longest:
            cuts.append(place)
            longest = 0
        longest = max(longest, length)
    return [end - start for start, end in pairwise([*cuts, len(lengths)])]


def _read_both(cells: Any, inputs: Float[Tensor, "p i"], steps: Steps) -> tuple[Float[Tensor, "b s d"], CellState]:
    read = [read_ragged(cell, inputs, steps, way) for cell, way in zip(cells, DIRECTIONS, strict=True)]
    states, lasts = zip(*read, strict=True)
    return torch.cat(states, dim=2), tuple(torch.cat(parts, dim=1) for parts in zip(*lasts, strict=True))
