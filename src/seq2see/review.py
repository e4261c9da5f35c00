"""A review of a run on held-out pairs: its score, its examples and its worst mistakes."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

import seq2see
from seq2see.core.box import Thing
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.number import say_count
from seq2see.data.pairs import Pairs
from seq2see.inspect.alignment import choose_units
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.document import DocumentTrace
from seq2see.inspect.measures import Measures, Meter
from seq2see.inspect.page import save_page
from seq2see.inspect.picture import save_figure, save_picture
from seq2see.inspect.reliability import draw_reliability
from seq2see.inspect.replay import give_output, replay
from seq2see.inspect.report import Example, Report, Score, render_report
from seq2see.metrics.caption import cut_caption, rouge_l
from seq2see.metrics.labels import count_confusion, tabulate_reliability
from seq2see.metrics.pointing import Look, find_mentions, point, score_pointing
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, word_error_rate
from seq2see.run import Prediction, Run
from seq2see.tasks.calibration import undo_temperature
from seq2see.tasks.transduction import Transduction

SHOWN = 6  # examples of a report
WORST = 12  # mistakes of a report
CONFUSED = 5  # pairs of labels that a report names
MEASURED = 500  # outputs whose attention a report measures


@dataclass(frozen=True)
class Review:
    """Predictions beside their references, and what they score."""

    name: str  # of the data
    references: Sequence[str]
    predictions: Sequence[Prediction]
    metrics: Sequence[Metric]
    more: Sequence[Sequence[str]] = ()  # further references of each, if any has several

    def example(self, row: int) -> Example:
        """One of them, with what the model looked at; what is right needs no other way to write it beside it."""
        one, others = self.predictions[row], self.more[row] if self.more else ()
        reference = self.references[row] if others or not self.is_right(row) else one.text
        return Example(one.source, one.text, reference, one.score, show_attention(one), others)

    @property
    def mistakes(self) -> list[int]:
        """Which are wrong, the most confident first: those mislead people most.

        No one of several captions is right; there, all are listed, from those that have least in common with any.
        """
        if any(self.more) and self.predictions[0].run.config.reads_pictures:
            return sorted(range(len(self.predictions)), key=self._fit)
        rows = [row for row in range(len(self.predictions)) if not self.is_right(row)]
        return sorted(rows, key=lambda row: -self.predictions[row].score)

    def is_right(self, row: int) -> bool:
        """Whether an output is one of its references."""
        one = self.predictions[row]
        return any(one.run.task.agrees(one.text, known) for known in self._list_known(row))

    def _list_known(self, row: int) -> list[str]:
        return [self.references[row], *(self.more[row] if self.more else ())]

    def _fit(self, row: int) -> float:
        known = [cut_caption(text) for text in self._list_known(row)]
        return rouge_l(cut_caption(self.predictions[row].text), known)


def review(
    run: Run,
    pairs: Pairs,
    *,
    name: str,
    predictions: Sequence[Prediction] | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    things: Mapping[str, Sequence[Thing]] | None = None,
) -> Review:
    """Score predictions of all sources against their targets; they are made as configured if none are given.

    If it is known which things are where in pictures, attention is scored by the pointing game.
    """
    if predictions is None:
        pairs = run.task.examine(pairs)
        predictions = run.predict(list(pairs.source))
    metrics = run.task.score(predictions, pairs, bleu_tokenizer=bleu_tokenizer)
    writes = isinstance(run.task, Transduction)
    # several runs together give no likelihood of a whole target at once
    perplexity = [run.task.perplexity(run.model, pairs)] if writes and not run.others else []
    pointing = play_pointing(run, predictions, things) if writes and things else []
    return Review(name, pairs.target, predictions, [*metrics, *perplexity, *pointing], pairs.more)


def play_pointing(run: Run, predictions: Sequence[Prediction], things: Mapping[str, Sequence[Thing]]) -> list[Metric]:
    """Whether the model looks at a thing while it names it; nothing for a model without attention."""
    given = [give_output(prediction) for prediction in predictions if prediction.ids and prediction.source in things]
    looks: list[Look] = []
    grid = (0, 0)
    try:
        for place, trace in replay(run.task, run.model, given):
            grid = trace.grid or grid
            mentions = find_mentions(trace.target, things[given[place].source])
            looks += point(trace.weights, grid=grid, tokens=trace.target_tokens, mentions=mentions)
    except AttentionError:
        return []
    return score_pointing(looks, grid=grid) if looks else []


def count_wrong_words(run: Run, pairs: Pairs) -> Metric:
    """The share of words that are wrong, in outputs that may become longer than every reference."""
    longest = max(len(run.task.target.encode(target).ids) for target in pairs.target)
    rules = replace(run.rules, max_length=2 * longest)
    outputs = [prediction.text for prediction in run.predict(list(pairs.source), rules=rules)]
    return word_error_rate(outputs, pairs.target)


def show_attention(prediction: Prediction) -> AttentionTrace | DocumentTrace | None:
    """The attention of a prediction, or None for a model that has none."""
    try:
        return prediction.attention
    except Seq2SeeError:
        return None


def measure_looks(
    run: Run, predictions: Sequence[Prediction], *, seen: Callable[[], None] = lambda: None
) -> Measures | None:
    """Numbers about the attention of a run's own outputs, or None for a model that has none."""
    if not isinstance(run.task, Transduction):
        return None  # a label has no steps whose looks could be measured
    given = [give_output(prediction) for prediction in predictions if prediction.ids]
    meter = Meter(choose_units([each.source for each in given], [each.target for each in given]))
    try:
        for _, trace in replay(run.task, run.model, given):
            meter.see(trace)
            seen()
    except AttentionError:
        return None
    return meter.read()


def count_parameters(run: Run) -> int:
    """All numbers that were learned."""
    return sum(parameter.numel() for parameter in run.model.parameters())


def count_minutes(run: Run) -> float | None:
    """How long the run was trained, if its folder says so."""
    history = run.folder.read_metrics()
    return sum(row.get("seconds", 0.0) for row in history) / 60 if history else None


def write_report(run: Run, result: Review) -> Path:
    """Write report.html into the run folder."""
    report = Report(
        title=f"{run.folder.path.name}: {result.name}",
        facts=_facts(run, result),
        scores=[Score(metric.name, metric.value, metric.signature) for metric in result.metrics],
        history=run.folder.read_metrics(),
        examples=[result.example(row) for row in range(min(SHOWN, len(result.predictions)))],
        mistakes=[result.example(row) for row in result.mistakes[:WORST]],
    )
    return save_page(render_report(report), run.folder.report_file)


def write_pictures(run: Run, predictions: Sequence[Prediction]) -> list[Path]:
    """Write a heatmap of each prediction into the run folder; none for a model without attention."""
    written = []
    for number, prediction in enumerate(predictions, 1):
        trace = show_attention(prediction)
        if trace is not None:
            written.append(save_picture(trace, run.folder.path / "attention" / f"{number:02d}.png"))
    return written


def write_reliability(run: Run, result: Review) -> Path | None:
    """Draw how often labels are right that seem so probable, before and after calibration; None for other outputs."""
    known = [(p, r) for p, r in zip(result.predictions, result.references, strict=True) if p.probabilities]
    if not known or run.task.target.many:
        return None
    right = [run.task.agrees(prediction.text, reference) for prediction, reference in known]
    ways = {"as predicted": [p.score for p, _ in known]}
    if run.task.temperature != 1.0:
        ways["before calibration"] = [undo_temperature(p.probabilities or {}, run.task.temperature) for p, _ in known]
    figure = draw_reliability({name: tabulate_reliability(scores, right) for name, scores in ways.items()})
    return save_figure(figure, run.folder.path / "reliability.png")


def _facts(run: Run, result: Review) -> dict[str, str]:
    history = run.folder.read_metrics()
    measures = measure_looks(run, result.predictions[:MEASURED])
    return {
        "Preset": run.config.preset or "none",
        "Parameters": f"{count_parameters(run):,}",
        "Training": f"{history[-1]['update']:,} updates, {count_minutes(run):.1f} minutes" if history else "unknown",
        "Scored on": f"{say_count(len(result.references), 'pair')} ({result.name})",
        **({"Mixed up": _say_confusion(result)} if run.config.chooses_labels else {}),
        **({"Attention": _say_measures(measures, run.config.reads_pictures)} if measures is not None else {}),
        "Versions": f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}",
    }


def _say_confusion(result: Review) -> str:
    """Which labels are taken for which others most often."""
    chosen = [prediction.text for prediction in result.predictions]
    worst = count_confusion(chosen, [reference.strip() for reference in result.references]).worst(CONFUSED)
    return ", ".join(f"{right!r} taken for {other!r} ({count})" for right, other, count in worst) or "nothing"


def _say_measures(measures: Measures, pictures: bool) -> str:
    """What is said of attention; a picture has no words to cover."""
    numbers = (
        f"entropy {measures.entropy:.2f} bits ({measures.spread:.0%} of uniform), largest weight {measures.peak:.2f}"
    )
    covered = "" if pictures else f", {measures.coverage:.0%} of the source covered"
    return " ".join([f"{numbers}{covered}.", *(f"Note: {note}" for note in measures.notes)])
