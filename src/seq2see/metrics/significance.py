"""Significance of differences: paired bootstrap resampling by sacrebleu.

Koehn 2004, https://aclanthology.org/W04-3250.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import sacrebleu
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.base import Score, Signature
from sacrebleu.significance import PairedTest, Result

from seq2see.core.errors import DataError
from seq2see.metrics.caption import rouge_l, score_captions, tokenise_caption
from seq2see.metrics.cider import MAX_NGRAM, Cider
from seq2see.metrics.mcnemar import McNemar
from seq2see.metrics.text import (
    DEFAULT_TOKENIZER,
    Metric,
    References,
    ReferenceStreams,
    compose_texts,
    make_bleu,
    make_streams,
    permits_bleu,
)

MAX_SAMPLES = 1_000  # test sets drawn with replacement
MAX_DRAWN_SENTENCES = 10_000_000  # in all samples together; more would need gigabytes, so a large set has fewer samples


@dataclass(frozen=True)
class Tested:
    """Holds a metric of one system, and the p-value of its difference to the baseline.

    Args:
        metric: the score on the whole test set.
        interval: half the width of the 95 % confidence interval, in the unit of the score.
        p_value: the probability of such a difference if the systems are equally good; None for the baseline itself.
        mcnemar: the sources that one of the two alone has right, where the p-value is that of McNemar's test.
    """

    metric: Metric
    interval: float
    p_value: float | None = None
    mcnemar: McNemar | None = None


class MeanSignature(Signature):
    """Is the signature of a mean over texts.

    Args:
        args: what sacrebleu gives a signature: the attributes of its metric, `about` among them.
    """

    def __init__(self, args: dict[str, object]) -> None:
        super().__init__(args)
        about = args["about"]
        if isinstance(about, dict):
            self.info.update(about)


class MeanMetric(SacrebleuMetric):
    """Is a mean over texts as a metric of sacrebleu, which its test can resample.

    Args:
        score: returns the score of one output with its references, 0 to 1.
        **about: the entries of its signature, by name.
    """

    _SIGNATURE_TYPE = MeanSignature

    def __init__(self, score: Callable[[str, Sequence[str]], float], **about: str) -> None:
        super().__init__()
        self.score, self.about = score, about

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Sequence[str]]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Sequence[str]]) -> list[float]:
        return [float(self.score(hypothesis, ref_kwargs["references"])), 1.0]

    def _compute_score_from_stats(self, stats: Iterable[SupportsFloat]) -> Score:
        total, count = stats
        return Score("mean", 100 * float(total) / float(count))

    def _aggregate_and_compute(self, stats: Iterable[Iterable[SupportsFloat]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])


def compare_systems(
    systems: Mapping[str, Sequence[str]], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, list[Tested]]:
    """Return exact match, BLEU if the references permit it, chrF and TER of each system, with their significance.

    Args:
        systems: the outputs of each system by its name; the first is the baseline of the others.
        references: one or several texts for each source.
        bleu_tokenizer: the name of one of sacrebleu's tokenizers.

    Returns:
        The tested metrics of each system by its name, in the same order for all.
    """
    if not systems:
        raise DataError("a comparison needs at least one system.")
    composed = {name: compose_texts(outputs, references)[0] for name, outputs in systems.items()}
    truth = make_streams(compose_texts(next(iter(systems.values())), references)[1])
    metrics = {
        "exact_match": MeanMetric(lambda output, known: output in known, match="exact", case="mixed", space="kept"),
        "bleu": make_bleu(bleu_tokenizer),
        "chrf": sacrebleu.CHRF(),
        "ter": sacrebleu.TER(),
    }
    if not permits_bleu(references, tokenizer=bleu_tokenizer):
        del metrics["bleu"]
    columns = []
    for name, metric in metrics.items():
        signature, results = _test(metric, composed, truth)
        scores = [Metric(name, result.score, f"{signature}|form:nfc", name != "ter") for result in results]
        columns.append(_judge(scores, results))
    return dict(zip(composed, map(list, zip(*columns, strict=True)), strict=True))


def compare_captions(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]]
) -> dict[str, list[Tested]]:
    """Return BLEU-1 to BLEU-4, ROUGE-L and CIDEr-D of each system, with their significance.

    Args:
        systems: the captions of each system by its name; the first is the baseline of the others.
        references: the captions that people wrote for each image; an image is drawn with all of them.
    """
    scores = {name: score_captions(outputs, references) for name, outputs in systems.items()}
    tokenised = {name: [_tokenise(text) for text in outputs] for name, outputs in systems.items()}
    known = [[_tokenise(text) for text in each] for each in references]
    tested = [_test(metric, tokenised, make_streams(known))[1] for metric in make_caption_metrics(known)]
    columns = [_judge(each, results) for each, results in zip(zip(*scores.values(), strict=True), tested, strict=True)]
    return dict(zip(systems, map(list, zip(*columns, strict=True)), strict=True))


def make_caption_metrics(references: Sequence[Sequence[str]]) -> list[SacrebleuMetric]:
    """Return the metrics of `score_captions` as metrics of sacrebleu, for texts with spaces between words.

    Args:
        references: the references of each image, for CIDEr-D's document frequencies.
    """
    cider = Cider([[text.split() for text in each] for each in references])
    orders = range(1, MAX_NGRAM + 1)
    return [
        *(sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none", max_ngram_order=n) for n in orders),
        MeanMetric(lambda output, known: rouge_l(output.split(), [text.split() for text in known])),
        MeanMetric(lambda output, known: cider(output.split(), [text.split() for text in known])),
    ]


def _tokenise(text: str) -> str:
    return " ".join(tokenise_caption(text))


def _test(
    metric: SacrebleuMetric, systems: Mapping[str, list[str]], references: ReferenceStreams
) -> tuple[Signature, list[Result]]:
    """Return the signature of the test, and its result for each system."""
    samples = max(1, min(MAX_SAMPLES, MAX_DRAWN_SENTENCES // len(references[0])))
    test = PairedTest(list(systems.items()), {"it": metric}, references, test_type="bs", n_samples=samples)
    signatures, columns = test()
    (signature,) = signatures.values()
    _, results = columns.values()  # the names come first
    return signature, [result for result in results if isinstance(result, Result)]


def _judge(scores: Sequence[Metric], results: Sequence[Result]) -> list[Tested]:
    """Join scores and results; the p-value of two equal scores is 1, where sacrebleu gives 1/(n + 1)."""
    return [
        Tested(score, _half_interval(result), _find_p_value(result, results[0]))
        for score, result in zip(scores, results, strict=True)
    ]


def _half_interval(result: Result) -> float:
    assert result.ci is not None
    return float(result.ci)


def _find_p_value(result: Result, baseline: Result) -> float | None:
    if result is baseline or result.p_value is None:
        return None
    return 1.0 if result.score == baseline.score else float(result.p_value)
