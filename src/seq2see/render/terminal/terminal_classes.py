"""The scores of each label, and which labels are taken for which, in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from seq2see.core.plural import say_count
from seq2see.metrics.class_scores import ClassScore, ClassScores
from seq2see.metrics.confusion import Confusion
from seq2see.render.token_label import show_label
from seq2see.system.console import print_table

MAX_ROWS = 20  # labels of the table; of more, those with the lowest F1
MAX_SQUARE = 12  # labels of a confusion matrix; of more, the most frequent confusions are listed
MAX_CONFUSIONS = 10
LABEL = 30  # terminal cells of a label in the table; a longer one is cut
HEAD = 10  # of a label over a column of the matrix
MAX_WIDTH = 10_000  # terminal cells, at which no table is folded


def print_classes(scores: ClassScores, console: Console) -> None:
    """Print the scores of the labels, the lowest F1 first, and below them the confusion matrix if there is one.

    Args:
        scores: the scores; of more than 20 labels, those with the lowest F1 are printed.
        console: where to print; a confusion matrix that is wider becomes a list of the most frequent confusions.
    """
    print_table(console, make_class_table(scores))
    if scores.confusion is None:
        return
    square = make_square(scores.confusion) if len(scores.confusion.labels) <= MAX_SQUARE else None
    wide = console.options.update(width=MAX_WIDTH)
    fits = square is not None and (console.soft_wrap or console.measure(square, options=wide).maximum <= console.width)
    table = square if fits else make_confusion_list(scores.confusion)
    if table is not None:
        print_table(console, table)


def make_class_table(scores: ClassScores) -> Table:
    """Return a row for each label, and below them the means.

    Args:
        scores: the scores of the labels.
    """
    ranked = scores.rank()
    numbers = [Column(name, justify="right") for name in ("precision", "recall", "F1", "support", "predicted")]
    title = f"{say_count(len(ranked), 'label')}, the lowest F1 first" if len(ranked) > 1 else "1 label"
    left_out = len(ranked) - MAX_ROWS
    more = f"... {left_out:,} more labels; --json and report.html have all" if left_out > 0 else None
    table = Table("label", *numbers, title=title, caption=more, title_justify="left", caption_justify="left")
    for each in ranked[:MAX_ROWS]:
        table.add_row(_name(each.label, LABEL), *_list_numbers(each))
    table.add_section()
    for each in scores.means:
        table.add_row(Text(each.label, style="dim"), *_list_numbers(each))
    return table


def make_square(confusion: Confusion) -> Table:
    """Return the confusion matrix: a row for each right label, a column for each chosen one.

    Args:
        confusion: the counts.
    """
    heads = [Column(_name(label, HEAD), justify="right", no_wrap=True) for label in confusion.labels]
    table = Table(Column("right ↓, taken for →", no_wrap=True), *heads)
    for row, label in enumerate(confusion.labels):
        counts = confusion.counts[row].tolist()
        if any(counts):
            table.add_row(_name(label, LABEL), *(_say_count(n, row == place) for place, n in enumerate(counts)))
    return table


def make_confusion_list(confusion: Confusion) -> Table | None:
    """Return the most frequent confusions as a table; None if there are no mistakes.

    Args:
        confusion: the counts.
    """
    worst = confusion.worst(MAX_CONFUSIONS)
    if not worst:
        return None
    numbers = [Column(name, justify="right") for name in ("sources", "of this label")]
    table = Table("right", "taken for", *numbers, title="most frequent confusions", title_justify="left")
    totals = {right: sum(n for (label, _), n in confusion.pairs.items() if label == right) for right, _, _ in worst}
    for right, chosen, count in worst:
        table.add_row(_name(right, LABEL), _name(chosen, LABEL), f"{count:,}", f"{count / totals[right]:.0%}")
    return table


def _list_numbers(each: ClassScore) -> Sequence[str]:
    shares = [f"{value:.2f}" for value in (each.precision, each.recall, each.f1)]
    return [*shares, f"{each.support:,}", f"{each.predicted:,}"]


def _say_count(count: int, right: bool) -> Text:
    return Text(f"{count:,}" if count else "·", style="bold" if right else "" if count else "dim")


def _name(label: str, cells: int) -> Text:
    shown = Text(show_label(label))
    shown.truncate(cells, overflow="ellipsis")
    return shown
