"""Documents: sentences of words, as ids with offsets, made ready once and read through memory maps."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor

from seq2see.core.errors import TokenError
from seq2see.core.registry import part
from seq2see.core.shapes import Count
from seq2see.core.token import Token
from seq2see.data.keep import keep, name_content
from seq2see.data.sentences import split_sentences
from seq2see.data.sequences import PAD, Sequences, pack
from seq2see.data.tokenise import Tokenizer

FILES = ("ids", "words", "sentences", "cut")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document, or a piece of one that is too long: its ids, and its words with offsets."""

    ids: tuple[int, ...]
    words: tuple[Token, ...]

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends in the raw text."""
        return self.words[0].start, self.words[-1].end


@dataclass(frozen=True)
class Cut:
    """How much of long documents was left out."""

    documents: int = 0  # that lost sentences
    words: int = 0
    total: int = 0  # words of all documents, those left out too


@dataclass(frozen=True)
class DocumentSources:
    """All documents of a split: the words of every sentence, and the sentences of every document."""

    words: Sequences  # a row for each sentence
    bounds: Int64[np.ndarray, " n_plus_1"]  # the sentences of each document
    cut: Cut

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """The words of each document, at least 1."""
        return np.maximum(np.diff(self.words.bounds[self.bounds]), 1)

    def gather(self, rows: Sequence[int]) -> tuple[Int[Tensor, "b u w"], Bool[Tensor, "b u w"]]:
        """Some documents as one tensor, padded to the longest sentence and the most sentences, and where it has words.

        A document without words has none that are not masked.
        """
        spans = [self.words.bounds[self.bounds[row] : self.bounds[row + 1] + 1] for row in rows]
        lengths = np.zeros((len(rows), max(1, *(len(span) - 1 for span in spans))), dtype=np.int64)
        for row, span in enumerate(spans):
            lengths[row, : len(span) - 1] = np.diff(span)
        mask = np.arange(max(int(lengths.max()), 1)) < lengths[..., None]
        ids = np.full(mask.shape, PAD, dtype=np.int64)
        ids[mask] = np.concatenate([self.words.ids[span[0] : span[-1]] for span in spans])
        return torch.from_numpy(ids), torch.from_numpy(mask)

    @property
    def remarks(self) -> list[str]:
        """What people should know about these documents."""
        if not self.cut.documents:
            return []
        share = self.cut.words / self.cut.total
        return [
            f"the end of {self.cut.documents:,} of {len(self):,} documents is not read, because they have more "
            f"sentences than tokens.source.max_sentences permits; that is {share:.1%} of all words"
        ]


class Documents:
    """Documents cut into sentences, and those into words.

    words: how a sentence is cut, as for texts.
    max_words: a longer sentence is read as several.
    max_sentences: what comes after so many sentences is not read.
    """

    def __init__(
        self, *, words: str | dict[str, Any] = "words", max_sentences: Count = 64, max_words: Count = 64
    ) -> None:
        self.words = part("tokenizer", words)
        self.max_sentences, self.max_words = max_sentences, max_words

    def learn(self, sources: Iterable[str]) -> "DocumentCutter":
        """Learn the vocabulary from all sentences."""
        tokenizer: Tokenizer = self.words().learn(sentence for source in sources for sentence in _list_texts(source))
        return DocumentCutter(tokenizer, self.max_sentences, self.max_words)

    @staticmethod
    def from_json(text: str) -> "DocumentCutter":
        """The cutter that its `to_json` described."""
        try:
            known = json.loads(text)
            words = Tokenizer.from_json(json.dumps(known["words"]))
            return DocumentCutter(words, int(known["max_sentences"]), int(known["max_words"]))
        except (ValueError, LookupError, TypeError) as error:
            raise TokenError(f"this is not a file of documents: {error}.") from None


@dataclass(frozen=True)
class DocumentCutter:
    """A learned way to cut documents."""

    words: Tokenizer
    max_sentences: int
    max_words: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """What an encoder of such documents must be told."""
        return {"vocabulary": len(self.words)}

    def is_blank(self, source: str) -> bool:
        """Whether there is nothing to read."""
        return not split_sentences(source)

    def encode(self, source: str) -> list[Sentence]:
        """One document as it is read, with offsets into it."""
        sentences = []
        for start, end in split_sentences(source):
            encoding = self.words.encode(source[start:end])
            moved = [Token(t.text, t.start + start, t.end + start) for t in encoding.tokens[:-1]]
            for first in range(0, len(moved), self.max_words):
                piece = slice(first, min(first + self.max_words, len(moved)))
                sentences.append(Sentence(encoding.ids[piece], tuple(moved[piece])))
        return sentences[: self.max_sentences]

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: Any = None) -> DocumentSources:
        """The ids of many documents; from the cache, if there is one and they were made before."""
        if cache is None:
            return self._pack(sources)
        folder = cache / name_content("documents 1", (self.to_json(), *sources))
        return keep(folder, lambda place: _save(self._pack(sources), place), _open)

    def to_json(self) -> str:
        """Everything needed to make this cutter again."""
        limits = {"max_sentences": self.max_sentences, "max_words": self.max_words}
        return json.dumps({"kind": "documents", **limits, "words": json.loads(self.words.to_json())}, indent=1)

    def _pack(self, sources: Sequence[str]) -> DocumentSources:
        texts = [_list_texts(source) for source in sources]
        ids = iter(self.words.ids([text for sentences in texts for text in sentences]))
        rows, counts, cut, lost = [], [], 0, 0
        for sentences in texts:
            pieces = [piece for _ in sentences for piece in self._divide(next(ids)[:-1])]
            rows += pieces[: self.max_sentences]
            counts.append(min(len(pieces), self.max_sentences))
            cut += len(pieces) > self.max_sentences
            lost += sum(len(piece) for piece in pieces[self.max_sentences :])
        packed = pack(rows)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return DocumentSources(packed, bounds, Cut(cut, lost, len(packed.ids) + lost))

    def _divide(self, ids: list[int]) -> Iterator[list[int]]:
        return (ids[first : first + self.max_words] for first in range(0, len(ids), self.max_words))


def _list_texts(source: str) -> list[str]:
    return [source[start:end] for start, end in split_sentences(source)]


def _save(documents: DocumentSources, folder: Path) -> None:
    cut = documents.cut
    counts = np.array([cut.documents, cut.words, cut.total], dtype=np.int64)
    for name, array in zip(FILES, (documents.words.ids, documents.words.bounds, documents.bounds, counts), strict=True):
        np.save(folder / f"{name}.npy", array)


def _open(folder: Path) -> DocumentSources:
    ids, words, sentences, counts = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in FILES)
    if [array.dtype for array in (ids, words, sentences, counts)] != [np.int32, np.int64, np.int64, np.int64]:
        raise ValueError("the arrays are not those of documents")
    if words[0] != 0 or words[-1] != len(ids) or sentences[-1] != len(words) - 1 or (np.diff(words) < 1).any():
        raise ValueError("the arrays do not fit each other")
    return DocumentSources(Sequences(ids, words), sentences, Cut(*counts.tolist()))
