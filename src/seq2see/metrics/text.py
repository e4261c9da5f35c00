"""Metrics of texts against references; each number carries a signature that says how it was computed.

An output may have one reference or several; metrics that count edits take the closest. Texts are compared in Unicode's
composed form (NFC): an é is an é, written as one character or as two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import zip_longest
from typing import Any
from unicodedata import normalize

import sacrebleu
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.base import Metric as SacrebleuMetric

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.installation import say_install
from seq2see.core.registry import suggest

DEFAULT_TOKENIZER = str(sacrebleu.BLEU.TOKENIZER_DEFAULT)
References = Sequence[str] | Sequence[Sequence[str]]  # of each output one, or several
ReferenceStreams = Any  # lists of texts, and None for a missing reference, which sacrebleu's own types do not permit
TOKENIZER_PACKAGES = {
    "ja-mecab": "sacrebleu[ja]",
    "ko-mecab": "sacrebleu[ko]",
}  # the others need sentencepiece and a download


@dataclass(frozen=True)
class Metric:
    """Is a score with its name and how it was computed.

    Args:
        name: the key under which it is logged and saved, such as bleu.
        value: the score out of 100, unless the metric's function says otherwise.
        signature: how it was computed, in sacrebleu's form `name|key:value|...`.
        higher_is_better: False for error rates.
    """

    name: str
    value: float
    signature: str
    higher_is_better: bool = True


def score_texts(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Return every metric of texts, out of 100; no BLEU if no reference has the four tokens that it needs.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
        bleu_tokenizer: the name of one of sacrebleu's tokenizers.

    Raises:
        DataError: if there are no references, or an output has none.
    """
    fast = validation_text_metrics(outputs, references, bleu_tokenizer=bleu_tokenizer)
    ways = {"bleu": bleu_tokenizer, "bleu_tokenised": "none"}
    blind = {name for name, tokenizer in ways.items() if not permits_bleu(references, tokenizer=tokenizer)}
    return [*(metric for metric in fast if metric.name not in blind), ter(outputs, references)]


def validation_text_metrics(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Return the metrics that are fast enough for every validation: all but TER.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
        bleu_tokenizer: the name of one of sacrebleu's tokenizers.
    """
    return [
        exact_match(outputs, references),
        character_error_rate(outputs, references),
        bleu(outputs, references, tokenizer=bleu_tokenizer),
        bleu_tokenised(outputs, references),
        chrf(outputs, references),
    ]


def is_match(output: str, reference: str) -> bool:
    """Tell whether an output equals its reference in Unicode's composed form.

    Args:
        output: one text.
        reference: the text that it should be; case and spaces count.
    """
    return normalize("NFC", output) == normalize("NFC", reference)


def exact_match(outputs: Sequence[str], references: References) -> Metric:
    """Return the share of outputs that equal a reference to the letter, out of 100.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source; an output must equal one of them.
    """
    outputs, known = compose_texts(outputs, references)
    hits = sum(output in each for output, each in zip(outputs, known, strict=True))
    signature = f"exact|n:{len(known)}{_count(known)}|case:mixed|space:kept|form:nfc"
    return Metric("exact_match", 100 * hits / len(known), signature)


def character_error_rate(outputs: Sequence[str], references: References) -> Metric:
    """Return the edits (insert, delete, replace) for every 100 characters of the references.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source; the closest counts.
    """
    outputs, known = compose_texts(outputs, references)
    signature = f"cer|n:{len(known)}{_count(known)}|unit:codepoint|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("cer", _count_edits(outputs, known), signature, higher_is_better=False)


def word_error_rate(outputs: Sequence[str], references: References) -> Metric:
    """Return the edits (insert, delete, replace) for every 100 words of the references; words are between spaces.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source; the closest counts.
    """
    outputs, known = compose_texts(outputs, references)
    words = [output.split() for output in outputs], [[text.split() for text in each] for each in known]
    signature = f"wer|n:{len(known)}{_count(known)}|unit:word|form:nfc|rapidfuzz:{version('rapidfuzz')}"
    return Metric("wer", _count_edits(*words), signature, higher_is_better=False)


def _count_edits(outputs: Sequence[Sequence[str]], known: Sequence[Sequence[Sequence[str]]]) -> float:
    """Return the edits to the closest reference of each output, for every hundred units of those references."""
    closest = [
        min((Levenshtein.distance(output, text), len(text)) for text in each)
        for output, each in zip(outputs, known, strict=True)
    ]
    return 100 * sum(edits for edits, _ in closest) / max(sum(length for _, length in closest), 1)


def _count(known: Sequence[Sequence[str]]) -> str:
    """Return what a signature says of several references."""
    most = max(map(len, known))
    return "" if most == 1 else f"|refs:{min(map(len, known))}-{most}"


def bleu(outputs: Sequence[str], references: References, *, tokenizer: str = DEFAULT_TOKENIZER) -> Metric:
    """Return BLEU of the corpus (Papineni et al. 2002, doi:10.3115/1073083.1073135), by sacrebleu.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
        tokenizer: the name of one of sacrebleu's tokenizers.
    """
    return _corpus_score("bleu", make_bleu(tokenizer), outputs, references)


def permits_bleu(references: References, *, tokenizer: str = DEFAULT_TOKENIZER) -> bool:
    """Tell whether perfect outputs would have a BLEU above 0: some reference must have four tokens.

    Args:
        references: one or several texts for each source; the first of several counts as a perfect output.
        tokenizer: the name of one of sacrebleu's tokenizers.
    """
    right = [known if isinstance(known, str) else known[0] for known in references]
    return bleu(right, references, tokenizer=tokenizer).value > 0


def bleu_tokenised(outputs: Sequence[str], references: References) -> Metric:
    """Return BLEU of the tokens between spaces, as multi-bleu does for tokenised files.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
    """
    return _corpus_score("bleu_tokenised", make_bleu("none"), outputs, references)


def chrf(outputs: Sequence[str], references: References) -> Metric:
    """Return chrF2 of the corpus (Popović 2015, doi:10.18653/v1/W15-3049), by sacrebleu.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
    """
    return _corpus_score("chrf", sacrebleu.CHRF(), outputs, references)


def ter(outputs: Sequence[str], references: References) -> Metric:
    """Return the translation edit rate by sacrebleu: edits for every 100 words, shifts of phrases included.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.
    """
    return _corpus_score("ter", sacrebleu.TER(), outputs, references, higher_is_better=False)


def make_bleu(tokenizer: str = DEFAULT_TOKENIZER) -> sacrebleu.BLEU:
    """Make sacrebleu's BLEU with one of its tokenizers.

    Args:
        tokenizer: the name of the tokenizer; those for some languages need another package.

    Raises:
        ConfigError: if there is none of that name, or its package is missing.
    """
    known = list(sacrebleu.BLEU.TOKENIZERS)
    if tokenizer not in known:
        hint = suggest(tokenizer, known)
        raise ConfigError(f"there is no BLEU tokenizer named {tokenizer!r}{hint} (known: {', '.join(known)}).")
    try:
        # forced: without it, sacrebleu would warn at every validation that the texts look tokenised
        return sacrebleu.BLEU(tokenize=tokenizer, force=True)
    except (Exception, SystemExit) as error:  # a missing package or a failed download, in many ways
        package = TOKENIZER_PACKAGES.get(tokenizer, "sentencepiece")
        detail = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"the BLEU tokenizer {tokenizer} is not ready to use: {detail.rstrip('.:')}; "
            f"it needs: {say_install(package)}"
        ) from error


def _corpus_score(
    name: str, metric: SacrebleuMetric, outputs: Sequence[str], references: References, *, higher_is_better: bool = True
) -> Metric:
    outputs, known = compose_texts(outputs, references)
    value = metric.corpus_score(outputs, make_streams(known)).score
    return Metric(name, value, f"{metric.get_signature()}|form:nfc", higher_is_better)


def compose_texts(outputs: Sequence[str], references: References) -> tuple[list[str], list[list[str]]]:
    """Return outputs and references in Unicode's composed form, and the references of each output as a list.

    Args:
        outputs: one text for each source.
        references: one or several texts for each source.

    Raises:
        DataError: if there are no references, or not one or more for each output.
    """
    if not references or len(outputs) != len(references) or not all(map(_is_known, references)):
        raise DataError(
            "a score needs references, and an output for each; "
            f"got {len(outputs)} outputs and {len(references)} references."
        )
    listed = [[known] if isinstance(known, str) else known for known in references]
    return [normalize("NFC", text) for text in outputs], [[normalize("NFC", text) for text in each] for each in listed]


def _is_known(known: str | Sequence[str]) -> bool:
    return isinstance(known, str) or len(known) > 0


def make_streams(references: Sequence[Sequence[str]]) -> ReferenceStreams:
    """Return the first reference of each output, then the second of each, and so on, as sacrebleu takes them.

    Args:
        references: the references of each output; where one has fewer than others, None fills the rest.
    """
    return [list(stream) for stream in zip_longest(*references)]
