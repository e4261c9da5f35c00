"""The attention behind the label of a text or a document: over words, and over sentences (Yang et al. 2016)."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from seq2see.core.errors import AttentionError
from seq2see.core.trace import Trace, tracing
from seq2see.data.modalities.modality import Sentence
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.models.classifier import Classifier
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output

WORD_POOL, LAST_POOL = "encoder.pool.attend", "pool.attend"  # the attention inside a sentence, and that of the label

PoolWeights = Float[np.ndarray, "n s"]


@torch.inference_mode()
def explain_document(task: Classification, model: Classifier, output: Output) -> DocumentTrace:
    """Return the attention behind one label: over words, and over sentences if the source has them.

    Args:
        task: the task of the run that chose the label.
        model: the model of that run; it is put into evaluation mode.
        output: the label with its source.

    Raises:
        AttentionError: if no pool of the model attends.
    """
    model.eval()
    with tracing(model) as trace:
        model(*model.place(task.source.prepare([output.source]).gather([0])))
    if not {WORD_POOL, LAST_POOL} & set(trace.names):
        raise AttentionError("this model has no attention to show: its pools weigh all positions alike.")
    sentences = task.source.sentences(output.source)
    last = _read_pool(trace, LAST_POOL)
    if task.source.name == "document":
        words = _read_pool(trace, WORD_POOL)
        found = [_weigh_words(sentence, words, place) for place, sentence in enumerate(sentences)]
        found = [each if last is None else replace(each, weight=float(last[0, n])) for n, each in enumerate(found)]
    else:
        found = [_weigh_words(sentence, last, 0) for sentence in sentences]
    return DocumentTrace(output.source, output.text, output.probabilities or {}, tuple(found))


def _read_pool(trace: Trace, name: str) -> PoolWeights | None:
    """Return the weights of a pool, a row for each sequence that it read, averaged over its heads."""
    if name not in trace.names:
        return None
    return np.asarray(trace.weights(name).mean(dim=1)[:, 0].cpu().double().numpy())


def _weigh_words(sentence: Sentence, weights: PoolWeights | None, row: int) -> AttendedSentence:
    shares = [None] * len(sentence.words) if weights is None else weights[row].tolist()
    pairs = zip(sentence.words, shares, strict=False)  # weights are padded
    words = (AttendedWord(word.text, word.start, word.end, share, unknown=word.unknown) for word, share in pairs)
    return AttendedSentence(*sentence.span, tuple(words))
