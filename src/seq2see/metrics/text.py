"""Metrics of texts against references; each number carries a signature that says how it was computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import sacrebleu
from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True)
class Metric:
    """A number with its name and the way it was computed."""

    name: str
    value: float
    signature: str
    higher_is_better: bool = True


def score_texts(outputs: Sequence[str], references: Sequence[str]) -> list[Metric]:
    """Every metric of texts: exact match, character error rate, BLEU and chrF, all out of 100."""
    return [
        exact_match(outputs, references),
        character_error_rate(outputs, references),
        bleu(outputs, references),
        chrf(outputs, references),
    ]


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of outputs that equal their reference to the letter."""
    hits = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Metric("exact_match", 100 * hits / len(references), f"exact|n:{len(references)}|case:mixed|space:kept")


def character_error_rate(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Edits (insert, delete, replace) over the characters of all references."""
    edits = sum(Levenshtein.distance(o, r) for o, r in zip(outputs, references, strict=True))
    length = max(sum(len(reference) for reference in references), 1)
    signature = f"cer|n:{len(references)}|unit:codepoint|rapidfuzz:{version('rapidfuzz')}"
    return Metric("cer", 100 * edits / length, signature, higher_is_better=False)


def bleu(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """BLEU of the corpus, by sacrebleu with its own tokenizer."""
    metric = sacrebleu.BLEU()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Metric("bleu", value, str(metric.get_signature()))


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """chrF2 of the corpus, by sacrebleu."""
    metric = sacrebleu.CHRF()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Metric("chrf", value, str(metric.get_signature()))
