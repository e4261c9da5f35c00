"""Whether systems differ by more than luck: paired bootstrap resampling (Koehn 2004), as sacrebleu does it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sacrebleu
from sacrebleu.metrics.base import Metric as Base
from sacrebleu.metrics.base import Score, Signature
from sacrebleu.significance import PairedTest

from seq2see.core.errors import DataError
from seq2see.metrics.caption import cut_caption, rouge_l, score_captions
from seq2see.metrics.cider import LONGEST, Cider
from seq2see.metrics.text import (
    DEFAULT_TOKENIZER,
    Metric,
    References,
    compose_texts,
    make_bleu,
    make_streams,
    permits_bleu,
)

SAMPLES = 1_000  # test sets drawn with replacement
DRAWS = 10_000_000  # sentences in all samples together; more would need gigabytes, so a large set has fewer samples


@dataclass(frozen=True)
class Tested:
    """A metric of one system, and how likely a difference as large as that to the baseline would be by luck alone."""

    metric: Metric
    interval: float  # half the width of the 95 % interval
    p_value: float | None = None  # None for the baseline itself


class MeanSignature(Signature):
    """What a mean over texts is of."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self.info.update(args["about"])


class Mean(Base):
    """A mean over texts as a metric of sacrebleu, which its test can resample: what each is worth, and how many."""

    _SIGNATURE_TYPE = MeanSignature

    def __init__(self, worth: Callable[[str, Sequence[str]], float], **about: str) -> None:
        super().__init__()
        self.worth, self.about = worth, about

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return [float(self.worth(hypothesis, ref_kwargs["references"])), 1.0]

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score("mean", 100 * float(stats[0]) / float(stats[1]))

    def _aggregate_and_compute(self, stats: Any) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])


def compare_systems(
    systems: Mapping[str, Sequence[str]], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, list[Tested]]:
    """Exact match, BLEU if there can be any, chrF and TER of each system; the first is the baseline of the others."""
    if not systems:
        raise DataError("a comparison needs at least one system.")
    composed = {name: compose_texts(outputs, references)[0] for name, outputs in systems.items()}
    truth = make_streams(compose_texts(next(iter(systems.values())), references)[1])
    metrics = {
        "exact_match": Mean(lambda output, known: output in known, match="exact", case="mixed", space="kept"),
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
    """BLEU-1 to BLEU-4, ROUGE-L and CIDEr-D of each system; a picture is drawn with all its references."""
    scores = {name: score_captions(outputs, references) for name, outputs in systems.items()}
    cut = {name: [_cut(text) for text in outputs] for name, outputs in systems.items()}
    known = [[_cut(text) for text in each] for each in references]
    tested = [_test(metric, cut, make_streams(known))[1] for metric in make_caption_metrics(known)]
    columns = [_judge(each, results) for each, results in zip(zip(*scores.values(), strict=True), tested, strict=True)]
    return dict(zip(systems, map(list, zip(*columns, strict=True)), strict=True))


def make_caption_metrics(references: Sequence[Sequence[str]]) -> list[Base]:
    """What `score_captions` computes, as metrics of sacrebleu; all words must stand between spaces."""
    cider = Cider([[text.split() for text in each] for each in references])
    orders = range(1, LONGEST + 1)
    return [
        *(sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none", max_ngram_order=n) for n in orders),
        Mean(lambda output, known: rouge_l(output.split(), [text.split() for text in known])),
        Mean(lambda output, known: cider(output.split(), [text.split() for text in known])),
    ]


def _cut(text: str) -> str:
    return " ".join(cut_caption(text))


def _test(metric: Base, systems: Mapping[str, list[str]], references: Any) -> tuple[Any, list[Any]]:
    """How the test was done, and what it says of each system."""
    samples = max(1, min(SAMPLES, DRAWS // len(references[0])))
    test = PairedTest(list(systems.items()), {"it": metric}, references, test_type="bs", n_samples=samples)
    signatures, columns = cast(tuple[dict[str, Any], dict[str, Any]], test())
    (signature,) = signatures.values()
    _, results = columns.values()  # the names come first
    return signature, results


def _judge(scores: Sequence[Metric], results: Sequence[Any]) -> list[Tested]:
    """Scores with their tests. Two equal scores are no difference: their p is 1, where sacrebleu says 1/(n + 1)."""
    first = results[0]
    return [
        Tested(
            score,
            float(result.ci),
            None if result is first else 1.0 if result.score == first.score else float(result.p_value),
        )
        for score, result in zip(scores, results, strict=True)
    ]
