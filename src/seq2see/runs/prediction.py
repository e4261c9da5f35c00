"""A prediction of a run: its output, with the attention behind it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.interventions import Intervention, changing
from seq2see.core.registry import shorten
from seq2see.core.token import Token
from seq2see.data.modalities.modality import find_unknown
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.classifier_attention import explain_label, explain_layers
from seq2see.explain.occlusion import measure_drops
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.text_attention import explain_text, trace_without_attention
from seq2see.tasks.task import Output

if TYPE_CHECKING:
    from seq2see.runs.run import Run


@dataclass(frozen=True)
class Prediction(Output):
    """One output of a run; in a notebook it shows itself with its attention.

    Args:
        run: the run that predicted it.
        alternatives: the further outputs of an n-best list, best first; empty if one output was asked for.
        interventions: those under which it was predicted; its attention is that of the model under the same ones.
    """

    run: "Run" = field(kw_only=True, repr=False, compare=False)
    alternatives: tuple["Prediction", ...] = ()
    interventions: tuple[Intervention, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        confidence = "" if self.confidence is None else f", confidence {self.confidence:.3f}"
        return f"Prediction({shorten(self.text)} from {shorten(self.source)}{confidence})"

    @cached_property
    def unknown(self) -> tuple[Token, ...]:
        """Return the characters or words of the source that the run does not know, and reads as an unknown token."""
        return find_unknown(self.run.task.source, self.source)

    @cached_property
    def attention(self) -> OutputTrace:
        """Return the attention of the model under forced decoding of this output; of an ensemble, of its first run."""
        known = self.run.agreement.under("before the interventions") if self.interventions else self.run.agreement
        return self._replay_attention().with_run_agreement(known)

    def _replay_attention(self) -> OutputTrace:
        if not self.ids:
            raise Seq2SeeError("a blank source has no attention to show.")
        with changing(self.run.model, self.interventions):
            if not self.run.task.writes_text:
                return explain_label(*self.run.classification, self)
            trace = explain_text(*self.run.transduction, self.source, self.ids)
        # the tokens of this output, where source words may have replaced unknown ones, with the run's confidences
        tokens = zip(self.tokens, trace.target_tokens, strict=True)
        shown = tuple(replace(token, confidence=seen.confidence) for token, seen in tokens)
        return replace(trace, target=self.text, target_tokens=shown)

    @cached_property
    def layers(self) -> AttentionTrace:
        """Return the self-attention behind the label of a text, in every layer of the encoder, head by head."""
        if self.run.task.writes_text or not self.ids:
            raise Seq2SeeError("layers are those behind the label of a text; see attention.")
        with changing(self.run.model, self.interventions):
            return explain_layers(*self.run.classification, self)

    @cached_property
    def faithfulness(self) -> OutputTrace:
        """Return the attention behind the output, beside the probability drop without each word, sentence or region."""
        try:
            trace = self.attention
        except AttentionError:  # occlusion needs none
            trace = trace_without_attention(self.run.task, self)
        with changing(self.run.model, self.interventions):
            return measure_drops(self.run.task, self.run.model, trace, self)

    @cached_property
    def explanation(self) -> OutputTrace:
        """Return what views show: the attention, with the probability drops in front where it hardly agrees with them.

        Whether it does was measured on held-out inputs of the run (`Run.agreement`).
        """
        return self.faithfulness if self.run.agreement.is_weak else self.attention

    def with_run(self, run: "Run") -> "Prediction":
        """Return the prediction with another run behind it.

        Args:
            run: the run, which has the same weights, and of which more is known.
        """
        return replace(self, run=run, alternatives=tuple(each.with_run(run) for each in self.alternatives))

    def _repr_html_(self) -> str:
        heading = f"<p><code>{escape(self.source)}</code> → <b>{escape(self.text)}</b></p>"
        try:
            return heading + self.explanation._repr_html_()
        except Seq2SeeError as error:
            return f"{heading}<p>{escape(str(error))}</p>"
