"""The document modality: sources are sentences of words, as ids with offsets, prepared once and memory-mapped."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from seq2see.core.box import Box
from seq2see.core.errors import DataError, TokenError
from seq2see.core.json_text import read_json
from seq2see.core.option_types import Count
from seq2see.core.registry import Part, part, shorten
from seq2see.core.token import Token
from seq2see.core.words import Span
from seq2see.data.modalities.document_sources import DocumentSources, Truncation, open_documents, save_documents
from seq2see.data.modalities.learn import TrainableTokenizer
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence, Sources
from seq2see.data.modalities.target import Target
from seq2see.data.modalities.text import check_spans, check_text, is_image_file, remove_span
from seq2see.data.pairs import Pairs
from seq2see.data.sentence_splitter import join_sentences, split_sentences
from seq2see.data.storage.cache import name_content, read_or_make
from seq2see.data.storage.dataset import Store, store_sources
from seq2see.data.storage.packed import pack
from seq2see.data.tokenizers import Tokenizer

MAX_LIMIT = 1_000_000  # of sentences of a document, and of words of a sentence


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
        """Learn the vocabulary from all sentences.

        Args:
            sources: the raw documents of the training data.
        """
        tokenizer: Tokenizer = self.words().learn(sentence for source in sources for sentence in _list_texts(source))
        return DocumentModality(tokenizer, self.max_sentences, self.max_words)

    @staticmethod
    def from_json(text: str) -> "DocumentModality":
        """Return the modality that its `to_json` described.

        Args:
            text: the content of the file.

        Raises:
            TokenError: the file does not describe documents.
        """
        try:
            known = read_json(text)
            limits = [known["max_sentences"], known["max_words"]]
            words = Tokenizer.from_json(json.dumps(known["words"]))
        except (ValueError, LookupError, TypeError) as error:
            raise TokenError(f"this is not a file of documents: {shorten(str(error))[1:-1]}.") from None
        if not all(type(limit) is int and 0 < limit <= MAX_LIMIT for limit in limits):
            raise TokenError(
                f"this is not a file of documents: max_sentences and max_words must be 1 to {MAX_LIMIT:,}; got "
                f"{shorten(limits)}."
            )
        return DocumentModality(words, *limits)


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
        """Return a document as a caller gave it.

        Args:
            given: any object; what is no text, or no valid Unicode, is an error.
        """
        return check_text(given)

    def accepts(self, file: Path) -> bool:
        """Return True for any file but an image.

        Args:
            file: a path, whose file need not exist.
        """
        return not is_image_file(file)

    def is_blank(self, source: str) -> bool:
        """Tell whether the document has no sentence.

        Args:
            source: a raw document.
        """
        return not split_sentences(source)

    def sentences(self, source: str) -> list[Sentence]:
        """Return the sentences of one document as they are read, with offsets into it and without end marks.

        Args:
            source: a raw document.
        """
        sentences = []
        for start, end in split_sentences(source):
            encoding = self.words.encode(source[start:end])
            moved = [replace(t, start=t.start + start, end=t.end + start) for t in encoding.tokens[:-1]]
            for first in range(0, len(moved), self.max_words):
                piece = slice(first, min(first + self.max_words, len(moved)))
                sentences.append(Sentence(encoding.ids[piece], tuple(moved[piece])))
        return sentences[: self.max_sentences]

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """Return nothing: a text can always be read.

        Args:
            sources: raw documents, which are not read.
            progress: never called.
        """
        return {}

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> DocumentSources:
        """Return the ids of many documents, from the cache if they were made before.

        Args:
            sources: raw documents.
            cache: the folder of prepared data; None stores nothing.
            encoder: ignored; documents have no features computed beforehand.
        """
        if cache is None:
            return self._pack(sources)
        folder = cache / name_content("documents 1", (self.to_json(), *sources))
        return read_or_make(folder, lambda place: save_documents(self._pack(sources), place), open_documents)

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """Prepare the documents whose targets are not too long for training.

        Args:
            pairs: the pairs of a split.
            target: the vocabulary or labels of the targets.
            fingerprint: the name of the content.
            max_tokens: the largest number of ids of a target, the end mark included; documents are not limited.
            cache: the folder of prepared data.
            encoder: ignored; documents have no features computed beforehand.
        """
        return store_sources(
            pairs, self, target, fingerprint=fingerprint, max_tokens=max_tokens, cache=cache, encoder=encoder
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """Return 0 for each document: max_sentences and max_words limit it, not `data.max_tokens`.

        Args:
            sources: raw documents.
        """
        return [0] * len(sources)

    def cost(self, source: str) -> int:
        """Count the words of one document that are read, at least 1.

        Args:
            source: a raw document.
        """
        return int(self.prepare([source]).lengths[0])

    def tokens(self, source: str) -> tuple[Token, ...]:
        """Return nothing: a position of a document is a sentence.

        Args:
            source: a raw document.
        """
        return ()

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """Return the sentence of each position.

        Args:
            source: a raw document.
            grid: ignored; a document has no cells.
        """
        spans = [sentence.span for sentence in self.sentences(source)]
        return tuple(Token(source[start:end], start, end) for start, end in spans)

    def occlusion_units(self, source: str, grid: Grid) -> list[Span]:
        """Return where the sentences of the document are.

        Args:
            source: a raw document.
            grid: ignored; a document has no regions.
        """
        return [sentence.span for sentence in self.sentences(source)]

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """Return the document, and then once without each unit; all other sentences are divided as they were.

        Args:
            source: a raw document.
            units: spans of the document; regions of an image are an error.
        """
        sentences = [sentence.span for sentence in self.sentences(source)]

        def without(span: Span | None) -> str:
            return join_sentences([_cut_sentence(source, sentence, span) for sentence in sentences])

        return self.prepare([without(span) for span in (None, *check_spans(units))])

    def group_references(self, pairs: Pairs) -> Pairs:
        """Return each document with all targets that its line lists.

        Args:
            pairs: the pairs of a split.
        """
        return pairs.group_lists()

    def to_json(self) -> str:
        """Return the modality as JSON, from which `Documents.from_json` makes it again."""
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
    """Return a sentence without what a span covers of it."""
    start, end = sentence
    if span is None or span[1] <= start or span[0] >= end:
        return text[start:end]
    return remove_span(text[start:end], (max(span[0] - start, 0), min(span[1], end) - start))
