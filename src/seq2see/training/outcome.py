"""What a training ends with: its final score, and the files in the run folder that show it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from seq2see.core.plural import say_count
from seq2see.data.synthetic.shapes import read_things
from seq2see.render.html.run_report import write_figures, write_reliability, write_report
from seq2see.runs.agreement_file import write_agreement
from seq2see.runs.agreement_measurement import measure_agreement
from seq2see.runs.data_files import origins
from seq2see.runs.evaluation import Evaluation, evaluate
from seq2see.runs.held_out_file import collect_held_out, write_held_out
from seq2see.runs.parallel_prediction import choose_workers, start_workers
from seq2see.runs.run import Run
from seq2see.search.factory import choose_search
from seq2see.training.job import Job

MAX_FIGURES = 4  # of attention, of the first predictions


@dataclass(frozen=True)
class ReportFiles:
    """The files in a run folder that show its evaluation.

    Args:
        report: the page report.html.
        images: figures of the attention behind the first predictions; none without attention.
        reliability: the reliability diagram of a classifier; None for any other run.
    """

    report: Path
    images: list[Path]
    reliability: Path | None


def evaluate_job(job: Job, run: Run) -> tuple[Run, Evaluation]:
    """Evaluate a run on the test data of its training, or on the validation data if there is no test data.

    On some of its predictions, how far its attention agrees with leave-one-out is measured and written into its folder.

    Args:
        job: the training that has ended.
        run: its run.

    Returns:
        The run, which knows what was measured of it, and its evaluation.
    """
    pairs, name, split = (
        (job.test, "test data", "test") if job.test is not None else (job.valid, "held-out data", "valid")
    )
    files = origins(run.config)
    things = read_things(files.get(split, files["train"]).file)
    with start_workers(run, choose_workers(run, len(pairs), choose_search(run.config.search))) as shared:
        result = evaluate(shared, pairs, name=name, things=things)
    agreement = measure_agreement(run, result.predictions)
    write_agreement(run.folder, agreement)
    known = replace(run, agreement=agreement)
    return known, result.with_run(known)


def write_outcome(run: Run, result: Evaluation) -> ReportFiles:
    """Write the report of an evaluation, its outputs and its figures into the run folder.

    Args:
        run: the run.
        result: its evaluation.
    """
    held_out = collect_held_out(run, result)
    write_held_out(run.folder, held_out)
    report = write_report(run, result, held_out)
    images = write_figures(run, result.predictions[:MAX_FIGURES])
    return ReportFiles(report, images, write_reliability(run, result))


def describe_outcome(run: Run) -> Iterator[str]:
    """Yield the final score of a run and where it is, in sentences.

    Args:
        run: a run with the evaluation of its training.
    """
    if run.evaluation is not None:
        result = run.evaluation
        scores = ", ".join(f"{metric.name} {metric.value:.2f}" for metric in result.metrics)
        yield f"score: {scores} ({say_count(len(result.references), 'pair')} of {result.name})"
        yield str(run.agreement)
        yield f"report: {run.folder.report_file}"
    yield f"run: {run.folder.path}"
