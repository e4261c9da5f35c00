"""Metrics of texts against references; each number carries a signature that says how it was computed.

Texts are compared in Unicode's composed form (NFC): an é is an é, written as one character or as two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from unicodedata import normalize

import sacrebleu
from rapidfuzz.distance import Levenshtein

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.registry import suggest

DEFAULT_TOKENIZER = str(sacrebleu.BLEU.TOKENIZER_DEFAULT)
PACKAGES = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}  # the others need sentencepiece and a download


@dataclass(frozen=True)
class Metric:
    """A number with its name and the way it was computed."""

    name: str
    value: float
    signature: str
    higher_is_better: bool = True


def score_texts(
    outputs: Sequence[str], references: Sequence[str], *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Every metric of texts, all out of 100; no BLEU where even perfect outputs have none, for want of four tokens."""
    quick = glance_texts(outputs, references, bleu_tokenizer=bleu_tokenizer)
    perfect = bleu(references, references, tokenizer=bleu_tokenizer), bleu_tokenised(references, references)
    blind = {metric.name for metric in perfect if not metric.value}
    return [*(metric for metric in quick if metric.name not in blind), ter(outputs, references)]


def glance_texts(
    outputs: Sequence[str], references: Sequence[str], *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """The metrics that are quick enough to be looked at again and again: all but TER."""
    return [
        exact_match(outputs, references),
        character_error_rate(outputs, references),
        bleu(outputs, references, tokenizer=bleu_tokenizer),
        bleu_tokenised(outputs, references),
        chrf(outputs, references),
    ]


def is_match(output: str, reference: str) -> bool:
    """Whether an output is its reference, however its accents are written."""
    return normalize("NFC", output) == normalize("NFC", reference)


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of outputs that equal their reference to the letter."""
    outputs, references = compose_texts(outputs, references)
    hits = sum(is_match(output, reference) for output, reference in zip(outputs, references, strict=True))
    signature = f"exact|n:{len(references)}|case:mixed|space:kept|form:nfc"
    return Metric("exact_match", 100 * hits / len(references), signature)


def character_error_rate(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Edits (insert, delete, replace) over the characters of all references."""
    outputs, references = compose_texts(outputs, references)
    edits = sum(Levenshtein.distance(o, r) for o, r in zip(outputs, references, strict=True))
    length = max(sum(len(reference) for reference in references), 1)
    signature = f"cer|n:{len(references)}|unit:codepoint|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("cer", 100 * edits / length, signature, higher_is_better=False)


def word_error_rate(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Edits (insert, delete, replace) over the words of all references; a word is what stands between spaces."""
    outputs, references = compose_texts(outputs, references)
    words = [(output.split(), reference.split()) for output, reference in zip(outputs, references, strict=True)]
    edits = sum(Levenshtein.distance(output, reference) for output, reference in words)
    length = max(sum(len(reference) for _, reference in words), 1)
    signature = f"wer|n:{len(references)}|unit:word|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("wer", 100 * edits / length, signature, higher_is_better=False)


def bleu(outputs: Sequence[str], references: Sequence[str], *, tokenizer: str = DEFAULT_TOKENIZER) -> Metric:
    """BLEU of the corpus, by sacrebleu, which cuts the texts with a tokenizer of its own."""
    return _corpus_score("bleu", make_bleu(tokenizer), outputs, references)


def bleu_tokenised(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """BLEU of the tokens as they stand between spaces: what multi-bleu reports for files tokenised beforehand."""
    return _corpus_score("bleu_tokenised", make_bleu("none"), outputs, references)


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """chrF2 of the corpus, by sacrebleu."""
    return _corpus_score("chrf", sacrebleu.CHRF(), outputs, references)


def ter(outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """Edits of words, with shifts of whole phrases as one edit, over the words of all references; by sacrebleu."""
    return _corpus_score("ter", sacrebleu.TER(), outputs, references, higher_is_better=False)


def make_bleu(tokenizer: str = DEFAULT_TOKENIZER) -> sacrebleu.BLEU:
    """sacrebleu's BLEU with one of its tokenizers; those for some languages need a package of their own."""
    known = list(sacrebleu.BLEU.TOKENIZERS)
    if tokenizer not in known:
        hint = suggest(tokenizer, known)
        raise ConfigError(f"there is no BLEU tokenizer named {tokenizer!r}{hint} (known: {', '.join(known)}).")
    try:
        # forced: the hint that texts look tokenised already would come up at every look of a training
        return sacrebleu.BLEU(tokenize=tokenizer, force=True)
    except (Exception, SystemExit) as error:  # a missing package or a failed download, in many ways
        package = PACKAGES.get(tokenizer, "sentencepiece")
        detail = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"the BLEU tokenizer {tokenizer} is not ready to use: {detail.rstrip('.:')}; "
            f"it needs: pip install '{package}'."
        ) from error


def _corpus_score(
    name: str, metric: Any, outputs: Sequence[str], references: Sequence[str], *, higher_is_better: bool = True
) -> Metric:
    outputs, references = compose_texts(outputs, references)
    value = metric.corpus_score(outputs, [references]).score
    return Metric(name, value, f"{metric.get_signature()}|form:nfc", higher_is_better)


def compose_texts(outputs: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both sides in Unicode's composed form, if there is a reference for each output."""
    if not references or len(outputs) != len(references):
        raise DataError(
            "a score needs references, and an output for each; "
            f"got {len(outputs)} outputs and {len(references)} references."
        )
    return [normalize("NFC", output) for output in outputs], [normalize("NFC", text) for text in references]
