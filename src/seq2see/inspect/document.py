"""What a classifier looked at in a text or a document, as a value that can be drawn, saved and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.core.trace import Trace, tracing
from seq2see.core.word import Span
from seq2see.data.documents import DocumentCutter, Sentence
from seq2see.data.sentences import show_sentences
from seq2see.inspect.faithfulness import leave_one_out
from seq2see.inspect.payload import write_payload
from seq2see.metrics.rank import RankAgreement, compare_ranks
from seq2see.models.classifier import Classifier
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 600  # words that are left out one by one; of a longer document, those of the heaviest sentences
WORDS, SENTENCES = "encoder.pool.attend", "pool.attend"  # the attention inside a sentence, and the last one of all


@dataclass(frozen=True)
class SeenWord:
    """A word with its share of its sentence's attention, and how much the probability falls without it."""

    text: str
    start: int
    end: int
    weight: float | None = None  # None: nothing attends at this level
    fall: float | None = None  # None: not measured


@dataclass(frozen=True)
class SeenSentence:
    """A sentence with its share of the document's attention, and how much the probability falls without it."""

    start: int
    end: int
    words: tuple[SeenWord, ...]
    weight: float | None = None
    fall: float | None = None

    @property
    def strengths(self) -> list[float | None]:
        """How strongly each word is drawn: sqrt(sentence weight) x word weight (Yang et al. 2016, section 3.4)."""
        scale = np.sqrt(1.0 if self.weight is None else self.weight)
        return [None if word.weight is None else float(scale * word.weight) for word in self.words]


@dataclass(frozen=True)
class DocumentTrace:
    """What the model looked at before it chose a label; a text without sentences has one, which weighs nothing."""

    source: str
    label: str
    probabilities: Mapping[str, float]
    sentences: tuple[SeenSentence, ...]
    word_agreement: RankAgreement | None = None  # of attention with what leaving a word out does
    sentence_agreement: RankAgreement | None = None

    @property
    def flat(self) -> bool:
        """Whether there is nothing to choose between sentences."""
        return all(sentence.weight is None and sentence.fall is None for sentence in self.sentences)

    @cached_property
    def strongest(self) -> float:
        """The strength of the word that is drawn strongest; 1 if none has any."""
        strengths = [strength or 0.0 for sentence in self.sentences for strength in sentence.strengths]
        return max(strengths, default=0.0) or 1.0

    def to_dict(self) -> dict[str, Any]:
        """The payload of every view and of the JSON file."""
        return {**asdict(self), "probabilities": dict(self.probabilities), "source": show_sentences(self.source)}

    def to_json(self) -> str:
        """The same payload as JSON text."""
        return write_payload(self.to_dict())

    def plot(self) -> "Figure":
        """A matplotlib figure of the document; save it with `.savefig(...)`."""
        from seq2see.inspect.document_picture import draw_document

        return draw_document(self)

    def save(self, path: Path | str) -> Path:
        """Write a page (.html), the payload (.json) or a picture (.png, .svg)."""
        from seq2see.inspect.picture import save_trace

        return save_trace(self, Path(path))

    def _repr_html_(self) -> str:
        from seq2see.inspect.page import embed_page

        return embed_page(self.to_dict(), height=min(760, 220 + 34 * len(self.sentences)))


@torch.inference_mode()
def explain_document(task: Classification, model: Classifier, output: Output) -> DocumentTrace:
    """The attention behind one label: over words, and over sentences if the source has them."""
    model.eval()
    with tracing(model) as trace:
        model(*task.source.prepare([output.source]).gather([0]))
    if not {WORDS, SENTENCES} & set(trace.names):
        raise AttentionError("this model has no attention to show: its pools weigh all positions alike.")
    sentences = _cut(task, output.source)
    last = _weigh(trace, SENTENCES)
    if isinstance(task.source, DocumentCutter):
        words = _weigh(trace, WORDS)
        seen = [_see(sentence, words, place) for place, sentence in enumerate(sentences)]
        seen = [each if last is None else replace(each, weight=float(last[0, n])) for n, each in enumerate(seen)]
    else:
        seen = [_see(sentence, last, 0) for sentence in sentences]
    return DocumentTrace(output.source, output.text, output.probabilities or {}, tuple(seen))


def measure_falls(task: Classification, model: Classifier, trace: DocumentTrace, output: Output) -> DocumentTrace:
    """The trace with what leaving out every sentence and every word does, and how far attention agrees with it."""
    sentences = trace.sentences
    if len(sentences) > 1:
        falls = leave_one_out(task, model, trace.source, output, [(each.start, each.end) for each in sentences])
        sentences = tuple(replace(each, fall=float(fall)) for each, fall in zip(sentences, falls, strict=True))
    chosen = _choose_words(sentences)
    units = [sentences[place].words[number] for place, number in chosen]
    falls = leave_one_out(task, model, trace.source, output, [(unit.start, unit.end) for unit in units])
    known = dict(zip(chosen, falls.tolist(), strict=True))
    sentences = tuple(
        replace(each, words=tuple(replace(word, fall=known.get((place, n))) for n, word in enumerate(each.words)))
        for place, each in enumerate(sentences)
    )
    return replace(
        trace,
        sentences=sentences,
        sentence_agreement=_agree([(each.weight, each.fall) for each in sentences]),
        word_agreement=_agree([pair for each in sentences for pair in _pair_words(each)]),
    )


def _cut(task: Classification, source: str) -> list[Sentence]:
    """The sentences of a document; a text is one, with its end mark."""
    if isinstance(task.source, DocumentCutter):
        return task.source.encode(source)
    encoding = task.source.encode(source)  # type: ignore[attr-defined]
    return [Sentence(encoding.ids, encoding.tokens)]


def _weigh(trace: Trace, name: str) -> Float[np.ndarray, "n s"] | None:
    """The weights of a pool, a row for each of what it read, averaged over its heads."""
    if name not in trace.names:
        return None
    return np.asarray(trace.weights(name).mean(dim=1)[:, 0].double().numpy())


def _see(sentence: Sentence, weights: Float[np.ndarray, "n s"] | None, row: int) -> SeenSentence:
    shares = [None] * len(sentence.words) if weights is None else weights[row].tolist()
    words = (_see_word(word, share) for word, share in zip(sentence.words, shares, strict=False))
    return SeenSentence(*sentence.span, tuple(words))


def _see_word(word: Token, share: float | None) -> SeenWord:
    return SeenWord(word.text, word.start, word.end, share)


def _choose_words(sentences: Sequence[SeenSentence]) -> list[Span]:
    """Places (sentence, word) of the words to leave out: all, or those of the heaviest sentences."""
    order = sorted(range(len(sentences)), key=lambda place: -(sentences[place].weight or 0.0))
    chosen = [(place, n) for place in order for n, word in enumerate(sentences[place].words) if word.start < word.end]
    return sorted(chosen[:MOST])


def _pair_words(sentence: SeenSentence) -> list[tuple[float | None, float | None]]:
    """Each word's share of the whole document's attention beside what it does."""
    share = 1.0 if sentence.weight is None else sentence.weight
    return [(None if word.weight is None else share * word.weight, word.fall) for word in sentence.words]


def _agree(pairs: Sequence[tuple[float | None, float | None]]) -> RankAgreement | None:
    known = [(weight, fall) for weight, fall in pairs if weight is not None and fall is not None]
    return compare_ranks([w for w, _ in known], [f for _, f in known]) if len(known) > 1 else None
