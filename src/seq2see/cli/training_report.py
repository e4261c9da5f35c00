"""`seq2see train` in the terminal: the training, then its metrics, examples, and commands to try next."""

import shlex
from pathlib import Path

from rich.console import Console

from seq2see.cli.inspect import print_trace
from seq2see.cli.messages import verbosity
from seq2see.core.plural import say_count
from seq2see.core.registry import shorten
from seq2see.core.unicode import escape_controls
from seq2see.data.formats.image_paths import is_image
from seq2see.render.terminal.terminal_evaluation import make_metric_table
from seq2see.runs.evaluation import Evaluation, find_attention
from seq2see.system.console import make_console, print_table
from seq2see.training.api import train_request
from seq2see.training.dry_run import describe_dry_run
from seq2see.training.events import Finished
from seq2see.training.outcome import ReportFiles, describe_outcome, evaluate_job, write_outcome
from seq2see.training.request import TrainingRequest

MAX_REFERENCE = 400  # characters of an output or reference


def run_training(request: TrainingRequest, *, examples: int = 2) -> None:
    """Train, then evaluate the run on data that it was not trained on, and report.

    Args:
        request: the configuration and the run folder.
        examples: the number of predictions to print.

    Raises:
        SystemExit: with code 130 if the training was interrupted.
    """
    console = make_console(quiet=verbosity.quiet)
    try:
        training = train_request(request, console=console)
    except KeyboardInterrupt:
        console.print("Run the same command again to go on.")
        raise SystemExit(130) from None
    if verbosity.quiet:
        for line in describe_outcome(training.evaluate()):
            make_console().print(line, soft_wrap=True)
        return
    run, result = evaluate_job(training.job, training.load())
    show_result(console, training.finished, result, examples)
    console.print(f"\n{run.agreement}", soft_wrap=True)
    show_files(console, write_outcome(run, result), result, Path(request.folder.path), trust=bool(training.job.code))


def show_plan(request: TrainingRequest) -> None:
    """Print on standard output what a training would do.

    Args:
        request: the configuration and the run folder.
    """
    for line in describe_dry_run(request):
        print(line)


def show_result(console: Console, finished: Finished, result: Evaluation, examples: int) -> None:
    """Print why the training ended, the metrics, and the first predictions with the attention behind them.

    Args:
        console: where to print.
        finished: how the training ended.
        result: the evaluation of its run.
        examples: the number of predictions to print.
    """
    console.print(f"\n{finished.reason}: {say_count(finished.update, 'update')}")
    title = f"{say_count(len(result.references), 'pair')} of {result.name}"
    print_table(console, make_metric_table(result.metrics, title))
    wanted = "references such as" if any(result.more) else "should be"
    for row, prediction in enumerate(result.predictions[:examples]):
        reference = escape_controls(result.references[row], most=MAX_REFERENCE)
        right = "right" if result.is_correct(row) else f"{wanted} {reference}"
        heading = f"\n{shorten(prediction.source)} -> {shorten(prediction.text, most=MAX_REFERENCE)} ({right})"
        trace = find_attention(prediction)
        if trace is None:
            console.print(heading)
        else:
            print_trace(console, trace, heading=heading)


def show_files(console: Console, files: ReportFiles, result: Evaluation, out: Path, *, trust: bool) -> None:
    """Print where the report and its figures are, and which commands to try.

    Args:
        console: where to print.
        files: the report and its figures.
        result: the evaluation of the run.
        out: the run folder, as the commands name it.
        trust: whether the commands need --trust, because the run names code of its own.
    """
    console.print(f"\nreport:   {files.report}", soft_wrap=True)  # a path must stay on one line to be copied
    if files.images:
        console.print(f"images:   {files.images[0].parent}", soft_wrap=True)
    if files.reliability is not None:
        console.print(f"reliability diagram of its probabilities: {files.reliability}", soft_wrap=True)
    shown = min((prediction.source for prediction in result.predictions[:20]), key=len)
    source, folder = shlex.quote(shown), shlex.quote(str(out)) + " --trust" * trust
    command = f"seq2see predict {folder} {source}" if is_image(shown) else f"echo {source} | seq2see predict {folder}"
    console.print(f"try it:   {command}", soft_wrap=True)
    if files.images:
        console.print(f"inspect:  seq2see inspect {folder} {source}", soft_wrap=True)
