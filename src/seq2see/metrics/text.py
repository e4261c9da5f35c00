"""Metrics of texts against references; each number carries a signature that says how it was computed.

An output may have one reference or several, of which any will do; what counts edits takes the closest. Texts are
compared in Unicode's composed form (NFC): an é is an é, written as one character or as two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import zip_longest
from typing import Any
from unicodedata import normalize

import sacrebleu
from rapidfuzz.distance import Levenshtein

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.registry import suggest

DEFAULT_TOKENIZER = str(sacrebleu.BLEU.TOKENIZER_DEFAULT)
References = Sequence[str] | Sequence[Sequence[str]]  # of each output one, or several
PACKAGES = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}  # the others need sentencepiece and a download


@dataclass(frozen=True)
class Metric:
    """A number with its name and the way it was computed."""

    name: str
    value: float
    signature: str
    higher_is_better: bool = True


def score_texts(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Every metric of texts, all out of 100; no BLEU where even perfect outputs have none, for want of four tokens."""
    quick = glance_texts(outputs, references, bleu_tokenizer=bleu_tokenizer)
    ways = {"bleu": bleu_tokenizer, "bleu_tokenised": "none"}
    blind = {name for name, tokenizer in ways.items() if not permits_bleu(references, tokenizer=tokenizer)}
    return [*(metric for metric in quick if metric.name not in blind), ter(outputs, references)]


def glance_texts(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
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


def exact_match(outputs: Sequence[str], references: References) -> Metric:
    """The share of outputs that equal a reference to the letter."""
    outputs, known = compose_texts(outputs, references)
    hits = sum(output in each for output, each in zip(outputs, known, strict=True))
    signature = f"exact|n:{len(known)}{_count(known)}|case:mixed|space:kept|form:nfc"
    return Metric("exact_match", 100 * hits / len(known), signature)


def character_error_rate(outputs: Sequence[str], references: References) -> Metric:
    """Edits (insert, delete, replace) over the characters of all references."""
    outputs, known = compose_texts(outputs, references)
    signature = f"cer|n:{len(known)}{_count(known)}|unit:codepoint|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("cer", _count_edits(outputs, known), signature, higher_is_better=False)


def word_error_rate(outputs: Sequence[str], references: References) -> Metric:
    """Edits (insert, delete, replace) over the words of all references; a word is what stands between spaces."""
    outputs, known = compose_texts(outputs, references)
    words = [output.split() for output in outputs], [[text.split() for text in each] for each in known]
    signature = f"wer|n:{len(known)}{_count(known)}|unit:word|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("wer", _count_edits(*words), signature, higher_is_better=False)


def _count_edits(outputs: Sequence[Sequence[str]], known: Sequence[Sequence[Sequence[str]]]) -> float:
    """Edits to the closest reference of each output, for every hundred units of those references."""
    closest = [
        min((Levenshtein.distance(output, text), len(text)) for text in each)
        for output, each in zip(outputs, known, strict=True)
    ]
    return 100 * sum(edits for edits, _ in closest) / max(sum(length for _, length in closest), 1)


def _count(known: Sequence[Sequence[str]]) -> str:
    """What a signature says of several references."""
    most = max(map(len, known))
    return "" if most == 1 else f"|refs:{min(map(len, known))}-{most}"


def bleu(outputs: Sequence[str], references: References, *, tokenizer: str = DEFAULT_TOKENIZER) -> Metric:
    """BLEU of the corpus, by sacrebleu, which cuts the texts with a tokenizer of its own."""
    return _corpus_score("bleu", make_bleu(tokenizer), outputs, references)


def permits_bleu(references: References, *, tokenizer: str = DEFAULT_TOKENIZER) -> bool:
    """Whether perfect outputs would have BLEU at all: where no reference has four tokens, they have none."""
    right = [known if isinstance(known, str) else known[0] for known in references]
    return bleu(right, references, tokenizer=tokenizer).value > 0


def bleu_tokenised(outputs: Sequence[str], references: References) -> Metric:
    """BLEU of the tokens as they stand between spaces: what multi-bleu reports for files tokenised beforehand."""
    return _corpus_score("bleu_tokenised", make_bleu("none"), outputs, references)


def chrf(outputs: Sequence[str], references: References) -> Metric:
    """chrF2 of the corpus, by sacrebleu."""
    return _corpus_score("chrf", sacrebleu.CHRF(), outputs, references)


def ter(outputs: Sequence[str], references: References) -> Metric:
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
    name: str, metric: Any, outputs: Sequence[str], references: References, *, higher_is_better: bool = True
) -> Metric:
    outputs, known = compose_texts(outputs, references)
    value = metric.corpus_score(outputs, make_streams(known)).score
    return Metric(name, value, f"{metric.get_signature()}|form:nfc", higher_is_better)


def compose_texts(outputs: Sequence[str], references: References) -> tuple[list[str], list[list[str]]]:
    """Both sides in Unicode's composed form, if there is a reference, or several, for each output."""
    if not references or len(outputs) != len(references) or not all(map(_is_known, references)):
        raise DataError(
            "a score needs references, and an output for each; "
            f"got {len(outputs)} outputs and {len(references)} references."
        )
    listed = [[known] if isinstance(known, str) else known for known in references]
    return [normalize("NFC", text) for text in outputs], [[normalize("NFC", text) for text in each] for each in listed]


def _is_known(known: str | Sequence[str]) -> bool:
    return isinstance(known, str) or len(known) > 0


def make_streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The first reference of each output, then the second of each, and so on, as sacrebleu wants them."""
    return [list(stream) for stream in zip_longest(*references)]
