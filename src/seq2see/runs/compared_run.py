"""One run of a comparison, with everything that was measured of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from seq2see.explain.head_alignment import HeadSelection
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics.alignment import Agreement
from seq2see.metrics.significance import Tested
from seq2see.runs.evaluation import count_minutes, count_parameters
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

if TYPE_CHECKING:
    from pydantic import JsonValue


@dataclass(frozen=True)
class AlignmentScores:
    """The alignment error rate (AER) of a run, for each map and head.

    Args:
        default: the head that is taken without gold alignments.
        best: the head with the lowest error rate.
        agreements: how well each head agrees with the gold alignments.
    """

    default: HeadSelection
    best: HeadSelection
    agreements: dict[HeadSelection, Agreement]

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the error rates by the names of maps and heads, for programs."""
        maps = {str(selection): asdict(agreement) for selection, agreement in self.agreements.items()}
        return {"default": str(self.default), "best": str(self.best), "maps": {**maps}}


@dataclass(frozen=True)
class ComparedRun:
    """One run with its predictions and all that was measured of it.

    Args:
        name: a short name.
        run: the run.
        predictions: one for each source.
        tested: its metrics with 95 % intervals, and p-values against the baseline.
        seconds: the time that decoding took.
        attention: statistics of its attention; None for a model without attention.
        aligned: its alignment error rates; None without gold alignments or attention.
    """

    name: str
    run: Run
    predictions: Sequence[Prediction] = field(repr=False)
    tested: Sequence[Tested]
    seconds: float
    attention: AttentionStatistics | None
    aligned: AlignmentScores | None

    @property
    def speed(self) -> float:
        """Return the sources decoded in a second."""
        return len(self.predictions) / max(self.seconds, 1e-9)

    @property
    def parameters(self) -> int:
        """Return the number of parameters."""
        return count_parameters(self.run)

    @property
    def megabytes(self) -> float:
        """Return the size of the weights on the disk, in megabytes (10^6 bytes)."""
        return self.run.folder.weights_file.stat().st_size / 1e6

    @property
    def minutes(self) -> float | None:
        """Return the minutes that it was trained; None if its folder does not say so."""
        return count_minutes(self.run.folder.read_metrics())

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return everything that was measured of this run, for programs."""
        tested = {
            t.metric.name: {
                **asdict(t.metric),
                "interval": t.interval,
                "p_value": t.p_value,
                **({"mcnemar": asdict(t.mcnemar)} if t.mcnemar else {}),
            }
            for t in self.tested
        }
        return {
            "name": self.name,
            "run": str(self.run.folder.path),
            "preset": self.run.config.preset,
            "metrics": {**tested},
            "sentences_per_second": self.speed,
            "parameters": self.parameters,
            "megabytes": self.megabytes,
            "training_minutes": self.minutes,
            "attention": None if self.attention is None else asdict(self.attention),
            "attention_agreement": self.run.agreement.to_dict(),
            "alignment": None if self.aligned is None else self.aligned.to_dict(),
        }
