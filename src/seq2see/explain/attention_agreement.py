"""Whether the attention of a run can be believed: how far it agrees with leave-one-out occlusion, over several inputs.

Attention says what a model reads, and need not say what its output needs (Jain & Wallace 2019, arXiv:1902.10186).
Kendall's tau of the two orders of the parts of an input tells how far both say the same: of two parts, the one with
more attention is also the one that the output needs more with probability (1 + tau) / 2, where nothing is tied.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seq2see.core.plural import say_count

if TYPE_CHECKING:
    from pydantic import JsonValue

# What every view says of attention weights.
MEANING = "An attention weight says where the model attended, not that its output needed what is there."

# Below it, attention puts fewer than three of five pairs of parts in the order of leave-one-out. By chance it is half
# of them: over 24 inputs of ten parts each, the mean tau of independent orders is 0 with a standard deviation of 0.05.
WEAK_TAU = 0.2
STRONG_TAU = 0.5  # from here on, three of four pairs are in the same order


@dataclass(frozen=True)
class AttentionAgreement:
    """How far the attention of a run agrees with leave-one-out occlusion.

    Args:
        tau: the mean of Kendall's tau-b over the inputs; None if nothing was measured.
        count: the number of inputs whose parts could be ranked.
        reason: why nothing was measured; empty if it was.
        condition: what has changed since it was measured, such as interventions; empty if nothing has.
    """

    tau: float | None = None
    count: int = 0
    reason: str = ""
    condition: str = ""

    @property
    def is_weak(self) -> bool:
        """Return whether attention was measured, and hardly agrees with leave-one-out."""
        return self.tau is not None and self.tau < WEAK_TAU

    @property
    def advice(self) -> str:
        """Return what to read in place of attention that hardly agrees; empty otherwise."""
        return "read leave-one-out, not attention" if self.is_weak else ""

    def under(self, condition: str) -> "AttentionAgreement":
        """Return the same numbers with a remark that something has changed since they were measured.

        Args:
            condition: what has changed, as it is written behind the numbers.
        """
        return replace(self, condition=condition)

    def __str__(self) -> str:
        condition = f" ({self.condition})" if self.condition else ""
        if self.tau is None:
            return f"attention and leave-one-out were not compared: {self.reason}{condition}"
        degree = "hardly agree" if self.is_weak else "agree" if self.tau >= STRONG_TAU else "agree in part"
        advice = f"; {self.advice}" if self.advice else ""
        return (
            f"attention and leave-one-out {degree}: mean Kendall's tau {self.tau:.2f} over "
            f"{say_count(self.count, 'held-out input')}{condition}{advice}"
        )

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the numbers and the sentence, for views and programs."""
        return {
            "tau": self.tau,
            "count": self.count,
            "weak": self.is_weak,
            "text": str(self),
        }


NOT_MEASURED = AttentionAgreement(reason="not measured (seq2see evaluate RUN DATA --agreement measures it)")
NO_ATTENTION = AttentionAgreement(reason="the model has no attention to its source")
NOTHING_TO_RANK = AttentionAgreement(reason="no input has two parts that differ in their attention and in their drops")
