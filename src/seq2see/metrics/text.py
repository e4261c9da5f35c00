"""Metrics of texts against references; each number carries a signature that says how it was computed.

Texts are compared in Unicode's composed form (NFC): an é is an é, written as one character or as two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from unicodedata import normalize

import sacrebleu
from rapidfuzz.distance import Levenshtein

from seq2see.core.errors import DataError


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


def is_match(output: str, reference: str) -> bool:
    """Whether an output is its reference, however its accents are written."""
    return normalize("NFC", output) == normalize("NFC", reference)


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of outputs that equal their reference to the letter."""
    outputs, references = _compose(outputs, references)
    hits = sum(is_match(output, reference) for output, reference in zip(outputs, references, strict=True))
    signature = f"exact|n:{len(references)}|case:mixed|space:kept|form:nfc"
    return Metric("exact_match", 100 * hits / len(references), signature)


def character_error_rate(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Edits (insert, delete, replace) over the characters of all references."""
    outputs, references = _compose(outputs, references)
    edits = sum(Levenshtein.distance(o, r) for o, r in zip(outputs, references, strict=True))
    length = max(sum(len(reference) for reference in references), 1)
    signature = f"cer|n:{len(references)}|unit:codepoint|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("cer", 100 * edits / length, signature, higher_is_better=False)


def bleu(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """BLEU of the corpus, by sacrebleu with its own tokenizer."""
    return _corpus_score("bleu", sacrebleu.BLEU(), outputs, references)


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """chrF2 of the corpus, by sacrebleu."""
    return _corpus_score("chrf", sacrebleu.CHRF(), outputs, references)


def _corpus_score(
    name: str, metric: sacrebleu.BLEU | sacrebleu.CHRF, outputs: Sequence[str], references: Sequence[str]
) -> Metric:
    outputs, references = _compose(outputs, references)
    value = metric.corpus_score(outputs, [references]).score
    return Metric(name, value, f"{metric.get_signature()}|form:nfc")


def _compose(outputs: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    if not references or len(outputs) != len(references):
        raise DataError(
            "a score needs references, and an output for each; "
            f"got {len(outputs)} outputs and {len(references)} references."
        )
    return [normalize("NFC", output) for output in outputs], [normalize("NFC", text) for text in references]
