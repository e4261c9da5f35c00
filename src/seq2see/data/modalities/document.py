"""The document modality: sources are sentences of words, as ids with offsets, prepared once and memory-mapped."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor

from seq2see.core.box import Box
from seq2see.core.errors import DataError, TokenError
from seq2see.core.option_types import Count
from seq2see.core.registry import Part, part
from seq2see.core.special_tokens import PAD
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.data.modalities.learn import TrainableTokenizer
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence, Sources, Target
from seq2see.data.modalities.text import check_spans, check_text, is_image_file, remove_span
from seq2see.data.pairs import Pairs
from seq2see.data.sentence_splitter import join_sentences, split_sentences
from seq2see.data.storage.cache import name_content, read_or_make
from seq2see.data.storage.dataset import Store, store_sources
from seq2see.data.storage.packed import Sequences, pack
from seq2see.data.tokenizers import Tokenizer

FILES = ("ids", "words", "sentences", "cut")


@dataclass(frozen=True)
class Truncation:
    """How much of long documents is not read."""

    documents: int = 0  # with sentences that are not read
    words: int = 0
    total: int = 0  # words of all documents, read or not


@dataclass(frozen=True)
class DocumentSources(Sources):
    """All documents of a split: the words of every sentence, and the sentences of every document."""

    words: Sequences  # a row for each sentence
    bounds: Int64[np.ndarray, " n_plus_1"]  # the sentences of each document
    truncated: Truncation

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
    def token_sequences(self) -> Sequences:
        """The words of all sentences."""
        return self.words

    @property
    def remarks(self) -> list[str]:
        """What people should know about these documents."""
        if not self.truncated.documents:
            return []
        share = self.truncated.words / self.truncated.total
        return [
            f"the end of {self.truncated.documents:,} of {len(self):,} documents is not read, because they have more "
            f"sentences than tokens.source.max_sentences permits; that is {share:.1%} of all words"
        ]


class Documents:
    """Documents divided into sentences, and those into words.

    Args:
        words: the tokenizer of a sentence, as for texts.
        max_words: a longer sentence is read as several.
        max_sentences: what comes after so many sentences is not read.
    """

    def __init__(
        self, *, words: str | dict[str, object] = "words", max_sentences: Count = 64, max_words: Count = 64
    ) -> None:
        self.words: Part[TrainableTokenizer] = part("tokenizer", words)
        self.max_sentences, self.max_words = max_sentences, max_words

    def learn(self, sources: Iterable[str]) -> "DocumentModality":
        """Learn the vocabulary from all sentences."""
        tokenizer: Tokenizer = self.words().learn(sentence for source in sources for sentence in _list_texts(source))
        return DocumentModality(tokenizer, self.max_sentences, self.max_words)

    @staticmethod
    def from_json(text: str) -> "DocumentModality":
        """The modality that its `to_json` described."""
        try:
            known = json.loads(text)
            words = Tokenizer.from_json(json.dumps(known["words"]))
            return DocumentModality(words, int(known["max_sentences"]), int(known["max_words"]))
        except (ValueError, LookupError, TypeError) as error:
            raise TokenError(f"this is not a file of documents: {error}.") from None


@dataclass(frozen=True)
class DocumentModality:
    """Documents as sources: sentences, and the words in them.

    Args:
        words: the tokenizer of a sentence.
        max_sentences: what comes after so many sentences is not read.
        max_words: a longer sentence is read as several.
    """

    name: ClassVar[Name] = "document"
    reads: ClassVar[DataKind] = "text"
    max_batch: ClassVar[int | None] = None

    words: Tokenizer
    max_sentences: int
    max_words: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that an encoder of documents is built with."""
        return {"vocabulary": len(self.words)}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of a sentence."""
        return self.words

    def check(self, given: object) -> str:
        """A document as a caller gave it."""
        return check_text(given)

    def accepts(self, file: Path) -> bool:
        """Any file but an image."""
        return not is_image_file(file)

    def is_blank(self, source: str) -> bool:
        """Whether there is nothing to read."""
        return not split_sentences(source)

    def sentences(self, source: str) -> list[Sentence]:
        """The sentences of one document as they are read, with offsets into it."""
        sentences = []
        for start, end in split_sentences(source):
            encoding = self.words.encode(source[start:end])
            moved = [Token(t.text, t.start + start, t.end + start) for t in encoding.tokens[:-1]]
            for first in range(0, len(moved), self.max_words):
                piece = slice(first, min(first + self.max_words, len(moved)))
                sentences.append(Sentence(encoding.ids[piece], tuple(moved[piece])))
        return sentences[: self.max_sentences]

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """None: a text can always be read."""
        return {}

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> DocumentSources:
        """The ids of many documents; from the cache, if there is one and they were made before."""
        if cache is None:
            return self._pack(sources)
        folder = cache / name_content("documents 1", (self.to_json(), *sources))
        return read_or_make(folder, lambda place: _save(self._pack(sources), place), _open)

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """The documents whose targets are not too long, ready for training."""
        return store_sources(
            pairs, self, target, fingerprint=fingerprint, max_tokens=max_tokens, cache=cache, encoder=encoder
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """None that `data.max_tokens` limits: max_sentences and max_words do."""
        return [0] * len(sources)

    def cost(self, source: str) -> int:
        """The words of one document, at least 1."""
        return int(self.prepare([source]).lengths[0])

    def tokens(self, source: str) -> tuple[Token, ...]:
        """None: a position of a document is a sentence."""
        return ()

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """A position is a sentence."""
        spans = [sentence.span for sentence in self.sentences(source)]
        return tuple(Token(source[start:end], start, end) for start, end in spans)

    def occlusion_units(self, source: str, grid: Grid) -> list[Span]:
        """The sentences of the document."""
        return [sentence.span for sentence in self.sentences(source)]

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """The document, and then once without each unit; all other sentences are divided as they were."""
        sentences = [sentence.span for sentence in self.sentences(source)]

        def without(span: Span | None) -> str:
            return join_sentences([_cut_sentence(source, sentence, span) for sentence in sentences])

        return self.prepare([without(span) for span in (None, *check_spans(units))])

    def group_references(self, pairs: Pairs) -> Pairs:
        """A document with all targets that its line lists."""
        return pairs.group_lists()

    def to_json(self) -> str:
        """Everything needed to make this modality again."""
        limits = {"max_sentences": self.max_sentences, "max_words": self.max_words}
        return json.dumps({"kind": "documents", **limits, "words": json.loads(self.words.to_json())}, indent=1)

    def _pack(self, sources: Sequence[str]) -> DocumentSources:
        texts = [_list_texts(source) for source in sources]
        ids = iter(self.words.ids([text for sentences in texts for text in sentences]))
        rows, counts, truncated, lost = [], [], 0, 0
        for sentences in texts:
            pieces = [piece for _ in sentences for piece in self._divide(next(ids)[:-1])]
            rows += pieces[: self.max_sentences]
            counts.append(min(len(pieces), self.max_sentences))
            truncated += len(pieces) > self.max_sentences
            lost += sum(len(piece) for piece in pieces[self.max_sentences :])
        packed = pack(rows)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return DocumentSources(packed, bounds, Truncation(truncated, lost, len(packed.ids) + lost))

    def _divide(self, ids: list[int]) -> Iterator[list[int]]:
        return (ids[first : first + self.max_words] for first in range(0, len(ids), self.max_words))


def _list_texts(source: str) -> list[str]:
    return [source[start:end] for start, end in split_sentences(source)]


def _cut_sentence(text: str, sentence: Span, span: Span | None) -> str:
    """A sentence without what a span covers of it."""
    start, end = sentence
    if span is None or span[1] <= start or span[0] >= end:
        return text[start:end]
    return remove_span(text[start:end], (max(span[0] - start, 0), min(span[1], end) - start))


def _save(documents: DocumentSources, folder: Path) -> None:
    left_out = documents.truncated
    counts = np.array([left_out.documents, left_out.words, left_out.total], dtype=np.int64)
    for name, array in zip(FILES, (documents.words.ids, documents.words.bounds, documents.bounds, counts), strict=True):
        np.save(folder / f"{name}.npy", array)


def _open(folder: Path) -> DocumentSources:
    ids, words, sentences, counts = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in FILES)
    if [array.dtype for array in (ids, words, sentences, counts)] != [np.int32, np.int64, np.int64, np.int64]:
        raise ValueError("the arrays are not those of documents")
    if words[0] != 0 or words[-1] != len(ids) or sentences[-1] != len(words) - 1 or (np.diff(words) < 1).any():
        raise ValueError("the arrays do not fit each other")
    return DocumentSources(Sequences(ids, words), sentences, Truncation(*counts.tolist()))
