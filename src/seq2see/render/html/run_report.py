"""The files that show an evaluation in the run folder: report.html, figures of attention, a reliability diagram."""

import platform
from collections.abc import Sequence
from pathlib import Path

import torch

import seq2see
from seq2see.core.plural import say_count
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics.confusion import Confusion
from seq2see.render.figures.figure_file import save_figure
from seq2see.render.figures.reliability_diagram import draw_reliability
from seq2see.render.html.page import save_page
from seq2see.render.html.report import Example, Report, ScoreRow, render_report
from seq2see.render.metric_names import name_metric
from seq2see.runs.calibration_table import tabulate_calibration
from seq2see.runs.evaluation import (
    Evaluation,
    count_minutes,
    count_parameters,
    find_attention,
    measure_attention,
)
from seq2see.runs.held_out_file import NOTHING, HeldOut
from seq2see.runs.metrics_file import Row
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

MAX_EXAMPLES = 6  # outputs of a report, the first ones of the data
MAX_MISTAKES = 12  # wrong outputs of a report
MAX_CONFUSIONS = 5  # pairs of labels that a report names
MAX_MEASURED = 500  # outputs whose attention a report measures


def write_report(run: Run, result: Evaluation, held_out: HeldOut = NOTHING) -> Path:
    """Write report.html into the run folder and return its path.

    Args:
        run: the run, whose folder also holds the learning curves.
        result: its evaluation.
        held_out: the outputs of the evaluation for a table of all lines, as far as they fit.
    """
    history = run.folder.read_metrics()
    rows = range(min(MAX_EXAMPLES, len(result.predictions))), result.mistakes[:MAX_MISTAKES]
    report = Report(
        title=f"{run.folder.path.name}: report on {result.name}",
        facts=_list_facts(run, result, history),
        scores=[ScoreRow(name_metric(metric.name), metric.value, metric.signature) for metric in result.metrics],
        history=history,
        examples=[make_example(result, row) for row in rows[0]],
        mistakes=[make_example(result, row) for row in rows[1]],
        held_out=held_out,
        classes=result.classes,
    )
    return save_page(render_report(report), run.folder.report_file)


def make_example(result: Evaluation, row: int) -> Example:
    """Return one prediction with its attention and its references.

    A correct prediction with a single reference is itself shown as the reference, because the same labels in another
    order are also correct, and a report must not mark them as a difference.

    Args:
        result: the evaluation.
        row: the place of the prediction, from 0.
    """
    one, others = result.predictions[row], result.further_references(row)
    reference = result.references[row] if others or not result.is_correct(row) else one.text
    target = one.run.task.target
    labels = None if one.run.task.writes_text else (target.labels(one.text), target.labels(reference))
    trace, number = find_attention(one), row + 1
    return Example(one.source, one.text, reference, one.score, trace, others, number, one.unknown, labels)


def write_figures(run: Run, predictions: Sequence[Prediction]) -> list[Path]:
    """Write a figure of the attention behind each prediction into the folder `attention` of the run.

    Args:
        run: the run.
        predictions: the predictions; one without attention gets no figure.

    Returns:
        The files that were written.
    """
    written = []
    for number, prediction in enumerate(predictions, 1):
        trace = find_attention(prediction)
        if trace is not None:
            written.append(trace.save(run.folder.path / "attention" / f"{number:02d}.png"))
    return written


def write_reliability(run: Run, result: Evaluation) -> Path | None:
    """Draw the reliability diagram of an evaluation into the run folder.

    Args:
        run: the run.
        result: its evaluation.

    Returns:
        The file; None unless every output is a single label.
    """
    tables = tabulate_calibration(run, result)
    return save_figure(draw_reliability(tables), run.folder.path / "reliability.png") if tables else None


def _list_facts(run: Run, result: Evaluation, history: Sequence[Row]) -> dict[str, str]:
    statistics = measure_attention(run, result.predictions[:MAX_MEASURED])
    confusion = None if result.classes is None else result.classes.confusion
    has_words = run.task.source.tokenizer is not None
    return {
        "Preset": run.config.preset or "none",
        "Parameters": f"{count_parameters(run):,}",
        "Training": f"{history[-1]['update']:,} updates, {count_minutes(history):.1f} minutes"
        if history
        else "unknown",
        "Scored on": f"{say_count(len(result.references), 'pair')} ({result.name})",
        **({"Confusions": say_confusions(confusion)} if confusion is not None else {}),
        **({"Attention": _say_statistics(statistics, covers=has_words)} if statistics is not None else {}),
        "Faithfulness": str(run.agreement),
        "Versions": f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}",
    }


def say_confusions(confusion: Confusion) -> str:
    """Return the up to five confusions of labels that occur most often, with their counts; `none` without mistakes.

    Args:
        confusion: how often each label was taken for each.
    """
    worst = confusion.worst(MAX_CONFUSIONS)
    return ", ".join(f"{right!r} taken for {other!r} ({count})" for right, other, count in worst) or "none"


def _say_statistics(statistics: AttentionStatistics, *, covers: bool) -> str:
    """Return sentences about attention, with the coverage of the source if `covers` says that it has words."""
    numbers = (
        f"entropy {statistics.entropy:.2f} bits ({statistics.normalised_entropy:.0%} of uniform), "
        f"largest weight {statistics.max_weight:.2f}"
    )
    covered = f", {statistics.coverage:.0%} of the source covered" if covers else ""
    return " ".join([f"{numbers}{covered}.", *(f"Note: {note}" for note in statistics.notes)])
