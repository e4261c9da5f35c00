"""An evaluation in the terminal: its metrics, and the scores of each label."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from seq2see.metrics.text import Metric
from seq2see.render.terminal.terminal_classes import print_classes
from seq2see.runs.evaluation import Evaluation
from seq2see.system.console import print_table


def print_evaluation(result: Evaluation, console: Console, *, title: str) -> None:
    """Print the tables of an evaluation.

    Args:
        result: the evaluation.
        console: where to print.
        title: the title of the table of metrics.
    """
    print_table(console, make_metric_table(result.metrics, title))
    if result.classes is not None:
        print_classes(result.classes, console)


def make_metric_table(metrics: Sequence[Metric], title: str) -> Table:
    """Return a table of metrics with their values and signatures.

    Args:
        metrics: the metrics, a row for each.
        title: the title of the table.
    """
    table = Table("metric", "value", Column("signature", overflow="fold"), title=Text(title), title_justify="left")
    for metric in metrics:
        table.add_row(metric.name, f"{metric.value:.2f}", metric.signature)
    return table
