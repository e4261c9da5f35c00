"""`seq2see train` in the terminal: the training, then its metrics, examples, and commands to try next."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.table import Column, Table
from rich.text import Text

from seq2see.core.plural import say_count
from seq2see.core.registry import shorten
from seq2see.data.formats.image_paths import is_image
from seq2see.data.synthetic.shapes import read_things
from seq2see.metrics.text import Metric
from seq2see.render.html.run_report import write_figures, write_reliability, write_report
from seq2see.runs.data_files import origins
from seq2see.runs.evaluation import Evaluation, evaluate, find_attention
from seq2see.runs.parallel_prediction import choose_workers, start_workers
from seq2see.runs.run import Run
from seq2see.search.factory import choose_search
from seq2see.training.api import Training, make_console, train_request
from seq2see.training.events import Finished
from seq2see.training.request import TrainingRequest

console = make_console()


def run_training(request: TrainingRequest, *, examples: int = 2) -> None:
    """Train, then evaluate the run on data that it was not trained on, and report.

    Args:
        request: the configuration and the run folder.
        examples: the number of predictions to print.

    Raises:
        SystemExit: with code 130 if the training was interrupted.
    """
    try:
        training = train_request(request, console=console)
    except KeyboardInterrupt:
        console.print("Run the same command again to go on.")
        raise SystemExit(130) from None
    run = training.load()
    result = evaluate_training(training, run)
    show_result(training.finished, result, examples)
    show_files(run, result, Path(request.folder.path), trust=bool(training.job.code))


def evaluate_training(training: Training, run: Run) -> Evaluation:
    """Evaluate a run on the test data of its training, or on the validation data if there is no test data.

    Args:
        training: the training that has ended.
        run: its run.
    """
    job = training.job
    pairs, name, split = (
        (job.test, "test data", "test") if job.test is not None else (job.valid, "held-out data", "valid")
    )
    files = origins(run.config)
    origin = files.get(split, files["train"])
    things = read_things(origin.file, encoding=origin.encoding)
    with start_workers(run, choose_workers(run, len(pairs), choose_search(run.config.search))) as shared:
        return evaluate(shared, pairs, name=name, things=things)


def show_result(finished: Finished, result: Evaluation, examples: int) -> None:
    """Print why the training ended, the metrics, and the first predictions with the attention behind them.

    Args:
        finished: how the training ended.
        result: the evaluation of its run.
        examples: the number of predictions to print.
    """
    console.print(f"\n{finished.reason}: {say_count(finished.update, 'update')}")
    console.print(metric_table(result.metrics, f"{say_count(len(result.references), 'pair')} of {result.name}"))
    wanted = "references such as" if any(result.more) else "should be"
    for row, prediction in enumerate(result.predictions[:examples]):
        right = "right" if result.is_correct(row) else f"{wanted} {result.references[row]}"
        console.print(f"\n{shorten(prediction.source)} -> {prediction.text!r} ({right})")
        trace = find_attention(prediction)
        if trace is not None:
            console.print(trace.renderer.to_terminal(trace, width=console.width))


def show_files(run: Run, result: Evaluation, out: Path, *, trust: bool) -> None:
    """Write the report and its figures, and print where they are and which commands to try.

    Args:
        run: the run.
        result: its evaluation; the first four predictions get a figure.
        out: the run folder, as the commands name it.
        trust: whether the commands need --trust, because the run names code of its own.
    """
    report = write_report(run, result)
    images = write_figures(run, result.predictions[:4])
    reliability = write_reliability(run, result)
    console.print(f"\nreport:   {report}")
    if images:
        console.print(f"images:   {images[0].parent}")
    if reliability is not None:
        console.print(f"reliability diagram of its probabilities: {reliability}")
    shown = min((prediction.source for prediction in result.predictions[:20]), key=len)
    source, folder = shlex.quote(shown), shlex.quote(str(out)) + " --trust" * trust
    command = f"seq2see predict {folder} {source}" if is_image(shown) else f"echo {source} | seq2see predict {folder}"
    console.print(f"try it:   {command}", soft_wrap=True)  # a command must stay on one line to be copied
    if images:
        console.print(f"inspect:  seq2see inspect {folder} {source}", soft_wrap=True)


def metric_table(metrics: Sequence[Metric], title: str) -> Table:
    """Return a table of metrics with their values and signatures.

    Args:
        metrics: the metrics, a row for each.
        title: the title of the table.
    """
    table = Table("metric", "value", Column("signature", overflow="fold"), title=Text(title), title_justify="left")
    for metric in metrics:
        table.add_row(metric.name, f"{metric.value:.2f}", metric.signature)
    return table
