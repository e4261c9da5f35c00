"""Whether systems differ by more than luck: paired bootstrap resampling (Koehn 2004), as sacrebleu does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sacrebleu
from sacrebleu.metrics.base import Metric as Base
from sacrebleu.metrics.base import Score, Signature
from sacrebleu.significance import PairedTest

from seq2see.core.errors import DataError
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, compose_texts, make_bleu

SAMPLES = 1_000  # test sets drawn with replacement
DRAWS = 10_000_000  # sentences in all samples together; more would need gigabytes, so a large set has fewer samples


@dataclass(frozen=True)
class Tested:
    """A metric of one system, and how likely a difference as large as that to the baseline would be by luck alone."""

    metric: Metric
    interval: float  # half the width of the 95 % interval
    p_value: float | None = None  # None for the baseline itself


class ExactSignature(Signature):
    """How exact match was computed."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self.info.update({"match": "exact", "case": "mixed", "space": "kept"})


class ExactMatch(Base):
    """Exact match as a metric of sacrebleu, so that its test can resample it: hits and sentences."""

    _SIGNATURE_TYPE = ExactSignature

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        return [int(hypothesis in ref_kwargs["references"]), 1]

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score("exact_match", 100 * float(stats[0]) / float(stats[1]))

    def _aggregate_and_compute(self, stats: Any) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])


def compare_systems(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, list[Tested]]:
    """Exact match, BLEU, chrF and TER of each system; the first one is the baseline of the others."""
    if not systems:
        raise DataError("a comparison needs at least one system.")
    composed = {name: compose_texts(outputs, references)[0] for name, outputs in systems.items()}
    truth = compose_texts(references, references)[1]
    metrics = {
        "exact_match": ExactMatch(),
        "bleu": make_bleu(bleu_tokenizer),
        "chrf": sacrebleu.CHRF(),
        "ter": sacrebleu.TER(),
    }
    columns = [_test(name, metric, composed, truth) for name, metric in metrics.items()]
    return dict(zip(composed, map(list, zip(*columns, strict=True)), strict=True))


def _test(name: str, metric: Any, systems: Mapping[str, list[str]], references: list[str]) -> list[Tested]:
    """One metric of all systems. Two equal scores are no difference: their p is 1, where sacrebleu says 1/(n + 1)."""
    samples = max(1, min(SAMPLES, DRAWS // len(references)))
    test = PairedTest(list(systems.items()), {name: metric}, [references], test_type="bs", n_samples=samples)
    signatures, columns = cast(tuple[dict[str, Any], dict[str, Any]], test())
    (signature,) = signatures.values()
    _, results = columns.values()  # the names come first
    first = results[0]
    return [
        Tested(
            Metric(name, float(result.score), f"{signature}|form:nfc", higher_is_better=name != "ter"),
            float(result.ci),
            None if result is first else 1.0 if result.score == first.score else float(result.p_value),
        )
        for result in results
    ]
