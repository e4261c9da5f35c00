"""The hierarchical encoder of documents: words into sentences, sentences into a document."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.core.registry import Part
from seq2see.core.special_tokens import UNKNOWN
from seq2see.core.trace import active_trace
from seq2see.core.tree import select
from seq2see.nn.cell import Cell, CellState, Direction
from seq2see.nn.dropout import Dropout, draw_mask
from seq2see.nn.embed import Embed
from seq2see.nn.module_list import TypedModuleList
from seq2see.nn.pool import Pool
from seq2see.nn.ragged import Steps, list_steps, read_ragged

GRU, ATTENTION = Part[Cell]("cell", "gru"), Part[Pool]("pool", "attention")
MIN_LENGTH_RATIO = 0.8  # of the shortest to the longest of sentences that are pooled together
DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")


class HanEncoder(nn.Module):
    """Reads a document with a bidirectional GRU over the words of each sentence and another one over the sentences.

    Yang et al. 2016 (doi:10.18653/v1/N16-1174), section 2.2: a pool turns the words of a sentence into one vector. The
    states of the memory are the sentences; `levels` has the words, one row for each real sentence in reading order.

    Args:
        vocabulary: number of words v.
        cell: the recurrent cell.
        pool: how a sentence becomes a vector: attention, mean or max.
        embedding_size: channels e of the word embeddings.
        size: channels of one direction at both levels.
        dropout: the dropout rate of embeddings, sentence vectors and states.
        word_dropout: the share of words that training replaces by the unknown word.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        cell: Part[Cell] = GRU,
        pool: Part[Pool] = ATTENTION,
        embedding_size: Count = 200,
        size: Count = 50,
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = 2 * size
        self.embed = Embed(vocabulary, embedding_size)
        self.words: TypedModuleList[Cell] = TypedModuleList(
            cell(input_size=embedding_size, size=size) for _ in DIRECTIONS
        )
        self.pool: Pool = pool(size=2 * size)
        self.sentences: TypedModuleList[Cell] = TypedModuleList(
            cell(input_size=2 * size, size=size) for _ in DIRECTIONS
        )
        self.dropout = Dropout(dropout)
        self.kept_words = max(256 - round(word_dropout * 256), 1)  # of 256 words, so many are kept in training

    def forward(self, tokens: Int[Tensor, "b u w"], mask: Bool[Tensor, "b u w"]) -> Memory:
        """Encode padded documents; masked positions change nothing.

        Args:
            tokens: ids of the words of every sentence, [b u w].
            mask: True at words, False at padding; a sentence without any word is padding, too.
        """
        real = mask.any(dim=2)
        order = mask.sum(dim=2)[real].argsort(descending=True, stable=True)  # sentences, the longest first
        sorted_words = self.read_words(tokens[real][order], mask[real][order])
        back = order.argsort()
        words = select(sorted_words, back)
        # a trace records all sentences in reading order
        vectors: Tensor = self.pool(words) if active_trace() else pool_groups(self.pool, sorted_words)[back]
        steps = list_steps(real)
        place = (real.flatten().cumsum(0) - 1)[steps.forward]  # of the sentence that each step reads
        states, last = _read_both(self.sentences, self.dropout(vectors)[place], steps)
        return Memory(self.dropout(states), real, summary=last[0], final_states=(last,), levels=(words,))

    def read_words(self, tokens: Int[Tensor, "n w"], mask: Bool[Tensor, "n w"]) -> Memory:
        """Return the memory of the words, one row a sentence; only real words are computed.

        Args:
            tokens: ids of the words, [n w], one row a sentence.
            mask: True at words, False at padding.
        """
        steps = list_steps(mask)
        ids = tokens.flatten()[steps.forward]
        if self.training and self.kept_words < 256:
            ids = ids.where(draw_mask(ids.shape, kept=self.kept_words, device=ids.device), UNKNOWN)
        states, last = _read_both(self.words, self.dropout(self.embed(ids)), steps)
        return Memory(states, mask, summary=last[0])


def pool_groups(pool: Pool, words: Memory) -> Float[Tensor, "n d"]:
    """Pool each row into one vector; rows of similar length are pooled together, so that there is little padding.

    Args:
        pool: turns the words of a sentence into one vector.
        words: the memory of n sentences, sorted by their number of words, the longest first; it must have a summary.
    """
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
    """Return the size of each group of rows to pool together, so that there is little padding.

    Args:
        lengths: words of each row, in descending order.
    """
    cuts, longest = [0], 0
    for place, length in enumerate(lengths):
        if length < MIN_LENGTH_RATIO * longest:
            cuts.append(place)
            longest = 0
        longest = max(longest, length)
    return [end - start for start, end in pairwise([*cuts, len(lengths)])]


def _read_both(
    cells: Iterable[Cell], inputs: Float[Tensor, "p i"], steps: Steps
) -> tuple[Float[Tensor, "b s d"], CellState]:
    """Read in both directions, and put states and final states side by side."""
    read = [read_ragged(cell, inputs, steps, direction) for cell, direction in zip(cells, DIRECTIONS, strict=True)]
    states, lasts = zip(*read, strict=True)
    return torch.cat(states, dim=2), tuple(torch.cat(parts, dim=1) for parts in zip(*lasts, strict=True))
