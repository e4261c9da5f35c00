"""The attention behind the label of a text or a document, as a value that can be drawn, saved and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seq2see.core.words import Span
from seq2see.data.modalities.modality import Modality
from seq2see.data.sentence_splitter import show_sentences
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.output_trace import Drops, OutputTrace, Parts
from seq2see.metrics.rank import RankAgreement, compare_ranks

if TYPE_CHECKING:
    from pydantic import JsonValue

# words that are left out one by one; of a longer document, those of the sentences with the largest weights
MAX_OCCLUDED_WORDS = 600


@dataclass(frozen=True)
class AttendedWord:
    """A word with its attention weight inside its sentence.

    Args:
        text: the word.
        start: where it begins in the document, in characters.
        end: where it ends.
        weight: its share of the attention of its sentence; None if no attention weighs words.
        drop: how much the probability of the label drops without it; None if it was not measured.
        unknown: whether the vocabulary lacks it, so that it is read as the unknown token.
    """

    text: str
    start: int
    end: int
    weight: float | None = None
    drop: float | None = None
    unknown: bool = False


@dataclass(frozen=True)
class AttendedSentence:
    """A sentence with its attention weight inside the document.

    Args:
        start: where it begins in the document, in characters.
        end: where it ends.
        words: its words.
        weight: its share of the attention of the document; None if no attention weighs sentences.
        drop: how much the probability of the label drops without it; None if it was not measured.
    """

    start: int
    end: int
    words: tuple[AttendedWord, ...]
    weight: float | None = None
    drop: float | None = None

    @property
    def strengths(self) -> list[float | None]:
        """Return how strongly each word is drawn: sqrt(sentence weight) x word weight.

        Yang et al. 2016 (doi:10.18653/v1/N16-1174), section 3.4.
        """
        scale = np.sqrt(1.0 if self.weight is None else self.weight)
        return [None if word.weight is None else float(scale * word.weight) for word in self.words]

    @property
    def word_weights(self) -> list[float | None]:
        """Return the share that each word has of the attention of the whole document."""
        share = 1.0 if self.weight is None else self.weight
        return [None if word.weight is None else share * word.weight for word in self.words]


@dataclass(frozen=True)
class DocumentTrace(OutputTrace):
    """The attention behind one label; a text without sentences is one sentence without a weight.

    Args:
        source: the document as it was given.
        label: the label that was chosen.
        probabilities: of all labels, the most probable first.
        sentences: the sentences with their words.
        word_agreement: how far the attention to words agrees with their drops; None without two words to compare.
        sentence_agreement: the same for sentences.
        run_agreement: the same of the run on held-out inputs; None if the trace is of no run.
    """

    kind: ClassVar[str] = "document"
    has_heads: ClassVar[bool] = False

    source: str
    label: str
    probabilities: Mapping[str, float]
    sentences: tuple[AttendedSentence, ...]
    word_agreement: RankAgreement | None = None
    sentence_agreement: RankAgreement | None = None
    run_agreement: AttentionAgreement | None = None

    @property
    def has_drops(self) -> bool:
        """Return whether a sentence or a word has a drop."""
        words = (word for each in self.sentences for word in each.words)
        return any(each.drop is not None for each in self.sentences) or any(word.drop is not None for word in words)

    @property
    def part_agreement(self) -> RankAgreement | None:
        """Return the agreement over words, or over sentences if words have no attention or there is one word."""
        return self.word_agreement or self.sentence_agreement

    def with_run_agreement(self, agreement: AttentionAgreement | None) -> "DocumentTrace":
        """Return the trace beside what was measured of its run."""
        return replace(self, run_agreement=agreement)

    @property
    def is_flat(self) -> bool:
        """Return whether no sentence has a weight or a drop as a whole."""
        return all(sentence.weight is None and sentence.drop is None for sentence in self.sentences)

    @cached_property
    def max_strength(self) -> float:
        """Return the strength of the word that is drawn most strongly; 1 if no word has any."""
        strengths = [strength or 0.0 for sentence in self.sentences for strength in sentence.strengths]
        return max(strengths, default=0.0) or 1.0

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the payload of every view and of the JSON file."""
        known = self.run_agreement
        payload = {**asdict(self), "probabilities": dict(self.probabilities), "source": show_sentences(self.source)}
        return payload | {"run_agreement": None if known is None else known.to_dict()}

    def list_parts(self, modality: Modality, source: str) -> list[Parts]:
        """Return the sentences, if there are several, and then the words."""
        words = [self.sentences[place].words[number] for place, number in self._choose_words()]
        sentences = [[(each.start, each.end) for each in self.sentences]] if len(self.sentences) > 1 else []
        return [*sentences, [(word.start, word.end) for word in words]]

    def with_drops(self, groups: Sequence[Parts], drops: Sequence[Drops]) -> "DocumentTrace":
        """Return the trace with the drops of sentences and words, each beside its attention weight."""
        sentences = self.sentences
        if len(sentences) > 1:
            pairs = zip(sentences, drops[0].tolist(), strict=True)
            sentences = tuple(replace(each, drop=drop) for each, drop in pairs)
        known = dict(zip(self._choose_words(), drops[-1].tolist(), strict=True))
        sentences = tuple(
            replace(each, words=tuple(replace(word, drop=known.get((place, n))) for n, word in enumerate(each.words)))
            for place, each in enumerate(sentences)
        )
        words = [
            (weight, word.drop)
            for each in sentences
            for weight, word in zip(each.word_weights, each.words, strict=True)
        ]
        return replace(
            self,
            sentences=sentences,
            sentence_agreement=_compare([(each.weight, each.drop) for each in sentences]),
            word_agreement=_compare(words),
        )

    def _choose_words(self) -> list[Span]:
        """Return the places (sentence, word) of the words to leave out.

        If there are too many words, those of the sentences with the largest weights are chosen.
        """
        order = sorted(range(len(self.sentences)), key=lambda place: -(self.sentences[place].weight or 0.0))
        chosen = [
            (place, number)
            for place in order
            for number, word in enumerate(self.sentences[place].words)
            if word.start < word.end
        ]
        return sorted(chosen[:MAX_OCCLUDED_WORDS])


def _compare(pairs: Sequence[tuple[float | None, float | None]]) -> RankAgreement | None:
    known = [(weight, drop) for weight, drop in pairs if weight is not None and drop is not None]
    return compare_ranks([weight for weight, _ in known], [drop for _, drop in known]) if len(known) > 1 else None
