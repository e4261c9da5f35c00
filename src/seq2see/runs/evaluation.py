"""The evaluation of a run on held-out pairs: predictions beside their references, metrics and attention statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from seq2see.core.box import NamedBox
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.plural import say_count
from seq2see.core.registry import find
from seq2see.data.pairs import Pairs
from seq2see.explain.cross_attention import trace_cross_attention
from seq2see.explain.forced_output import ForcedOutput
from seq2see.explain.head_alignment import choose_units
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.statistics import AttentionStatistics, StatisticsAccumulator
from seq2see.metrics.caption import rouge_l, tokenise_caption
from seq2see.metrics.class_scores import ClassScores, score_classes, score_label_sets
from seq2see.metrics.pointing import Pointing, find_mentions, point, score_pointing
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, word_error_rate
from seq2see.runs.metrics_file import Row
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_LEFT_OUT = 20_000  # tokens of all sources with a part left out, of one example of a report: about a second


@runtime_checkable
class EvaluationRenderer(Protocol):
    """Draws an evaluation; the registry knows it as the renderer `evaluation`."""

    def to_text(self, result: "Evaluation") -> str:
        """Return the tables of an evaluation as text.

        Args:
            result: the evaluation to show.
        """
        ...

    def to_html(self, result: "Evaluation") -> str:
        """Return the tables of an evaluation as HTML, for a notebook.

        Args:
            result: the evaluation to show.
        """
        ...


@dataclass(frozen=True)
class Evaluation:
    """Predictions beside their references, and their metrics.

    Args:
        name: the name of the data.
        references: the first reference of each prediction.
        predictions: the predictions.
        metrics: the metrics over all predictions.
        more: the further references of each prediction; empty if each has one reference.
        classes: precision, recall and F1 of each label, and the confusion matrix; None for texts.
    """

    name: str
    references: Sequence[str]
    predictions: Sequence[Prediction]
    metrics: Sequence[Metric]
    more: Sequence[Sequence[str]] = ()
    classes: ClassScores | None = None

    def __repr__(self) -> str:
        scores = ", ".join(f"{metric.name} {metric.value:.2f}" for metric in self.metrics)
        return f"Evaluation({self.name}, {say_count(len(self.references), 'pair')}: {scores})"

    def _repr_html_(self) -> str:
        return self.renderer.to_html(self)

    @property
    def renderer(self) -> "EvaluationRenderer":
        """Return what draws this evaluation."""
        renderer: EvaluationRenderer = find("renderer", "evaluation")()
        return renderer

    def table(self) -> str:
        """Return the tables of the command `seq2see evaluate` as text."""
        return self.renderer.to_text(self)

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return the metrics and, of labels, the scores of each and the confusion matrix, for programs."""
        metrics: dict[str, JsonValue] = {metric.name: asdict(metric) for metric in self.metrics}
        labels = {} if self.classes is None else self.classes.to_dict()
        return {"pairs": len(self.references), "metrics": metrics, **labels}

    def with_run(self, run: Run) -> "Evaluation":
        """Return the evaluation with another run behind its predictions.

        Args:
            run: the run, which has the same weights, and of which more is known.
        """
        return replace(self, predictions=[each.with_run(run) for each in self.predictions])

    @property
    def mistakes(self) -> list[int]:
        """Return the rows of wrong predictions, those with the highest scores first, because they mislead people most.

        Of several captions of an image no single one is right, so all captions are listed, the lowest ROUGE-L first.
        """
        if any(self.more) and self.predictions[0].run.task.source.tokenizer is None:
            return sorted(range(len(self.predictions)), key=self._score_caption)
        rows = [row for row in range(len(self.predictions)) if not self.is_correct(row)]
        return sorted(rows, key=lambda row: -self.predictions[row].score)

    def is_correct(self, row: int) -> bool:
        """Return whether a prediction is one of its references.

        Args:
            row: the position of the prediction, from 0.
        """
        one = self.predictions[row]
        return any(one.run.task.is_correct(one.text, known) for known in self._list_references(row))

    def further_references(self, row: int) -> Sequence[str]:
        """Return the references of a prediction after the first.

        Args:
            row: the position of the prediction, from 0.
        """
        return self.more[row] if self.more else ()

    def _list_references(self, row: int) -> list[str]:
        return [self.references[row], *self.further_references(row)]

    def _score_caption(self, row: int) -> float:
        known = [tokenise_caption(text) for text in self._list_references(row)]
        return rouge_l(tokenise_caption(self.predictions[row].text), known)


def evaluate(
    run: Run,
    pairs: Pairs,
    *,
    name: str,
    predictions: Sequence[Prediction] | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    things: Mapping[str, Sequence[NamedBox]] | None = None,
) -> Evaluation:
    """Score predictions of all sources against their targets.

    Args:
        run: the run.
        pairs: sources with their references.
        name: the name of the data.
        predictions: one for each source; None predicts them as the run is configured.
        bleu_tokenizer: the tokenizer of sacrebleu for BLEU, such as 13a, intl or zh.
        things: the objects in each image with their boxes, by its path; with them, attention is scored by the pointing
            game. None, or empty: it is not.
    """
    if predictions is None:
        pairs = run.task.group_references(pairs)
        predictions = run.predict(list(pairs.source))
    metrics = run.task.score(predictions, pairs, bleu_tokenizer=bleu_tokenizer)
    # several runs together give no likelihood of a whole target at once
    perplexity = run.task.likelihood_metrics(run.model, pairs) if not run.others else []
    pointing = play_pointing(run, predictions, things) if run.task.writes_text and things else []
    classes = score_run_classes(run, predictions, pairs)
    return Evaluation(name, pairs.target, predictions, [*metrics, *perplexity, *pointing], pairs.more, classes)


def score_run_classes(run: Run, predictions: Sequence[Prediction], pairs: Pairs) -> ClassScores | None:
    """Return the scores of each label; None for a run that writes texts.

    Args:
        run: the run.
        predictions: one for each source.
        pairs: the sources in the same order with their references.
    """
    labels = run.task.target.label_set
    if labels is None:
        return None
    chosen, right = [one.text for one in predictions], [target.strip() for target in pairs.target]
    if labels.many:
        return score_label_sets([labels.labels(text) for text in chosen], [labels.labels(text) for text in right])
    return score_classes(chosen, right)


def play_pointing(
    run: Run, predictions: Sequence[Prediction], things: Mapping[str, Sequence[NamedBox]]
) -> list[Metric]:
    """Return the metrics of the pointing game (Zhang et al. 2016, arXiv:1608.00507); none without attention.

    Args:
        run: a run that captions images.
        predictions: its captions.
        things: the objects in each image with their boxes, by its path; images that are missing here are left out.
    """
    outputs = [ForcedOutput.from_output(each) for each in predictions if each.ids and each.source in things]
    pointed: list[Pointing] = []
    grid = (0, 0)
    try:
        for number, trace in trace_cross_attention(*run.transduction, outputs):
            grid = trace.grid or grid
            mentions = find_mentions(trace.target, things[outputs[number].source])
            pointed += point(trace.weights, grid=grid, tokens=trace.target_tokens, mentions=mentions)
    except AttentionError:
        return []
    return score_pointing(pointed, grid=grid) if pointed else []


def measure_word_error_rate(run: Run, pairs: Pairs) -> Metric:
    """Return the word error rate of outputs that may have twice the tokens of the longest reference.

    Args:
        run: a run that writes texts.
        pairs: sources with their references.
    """
    longest = max(len(ids) for ids in run.task.target.ids(pairs.target))
    outputs = [prediction.text for prediction in run.predict(list(pairs.source), max_length=2 * longest)]
    return word_error_rate(outputs, pairs.target)


def find_attention(prediction: Prediction) -> OutputTrace | None:
    """Return the attention behind a prediction as views show it; None for a blank source or a model that has none.

    Where the attention of the run hardly agrees with the probability drops, these are there, too, unless the source is
    so long that leaving out each of its parts would take many seconds.

    Args:
        prediction: the prediction.
    """
    run = prediction.run
    try:
        trace = prediction.attention
        if not run.agreement.is_weak:
            return trace
        parts = sum(len(group) for group in trace.list_parts(run.task.source, prediction.source))
        return trace if parts * run.task.source.cost(prediction.source) > MAX_LEFT_OUT else prediction.explanation
    except Seq2SeeError:
        return None


def measure_attention(
    run: Run, predictions: Sequence[Prediction], *, progress: Callable[[], None] = lambda: None
) -> AttentionStatistics | None:
    """Return statistics of the attention behind a run's own outputs; None for labels and for a model that has none.

    Args:
        run: the run.
        predictions: its outputs; blank ones are left out.
        progress: called after each of them.
    """
    if not run.task.writes_text:
        return None  # a label has no steps whose attention could be measured
    outputs = [ForcedOutput.from_output(prediction) for prediction in predictions if prediction.ids]
    units = choose_units([each.source for each in outputs], [each.target for each in outputs])
    statistics = StatisticsAccumulator(units)
    try:
        for _, trace in trace_cross_attention(*run.transduction, outputs):
            statistics.add(trace)
            progress()
    except AttentionError:
        return None
    return statistics.result()


def count_parameters(run: Run) -> int:
    """Return the number of parameters of a run's model.

    Args:
        run: the run.
    """
    return sum(parameter.numel() for parameter in run.model.parameters())


def count_minutes(history: Sequence[Row]) -> float | None:
    """Return the minutes that the updates of a run took; None without any rows.

    Args:
        history: the rows of its metrics.jsonl.
    """
    return sum(row.get("seconds") or 0.0 for row in history) / 60 if history else None
