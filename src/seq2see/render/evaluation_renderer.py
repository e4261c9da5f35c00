"""What draws an evaluation: as text, and as HTML for a notebook."""

import io
from collections.abc import Iterable, Sequence
from html import escape

from rich.console import Console

from seq2see.core.plural import say_count
from seq2see.metrics.class_scores import ClassScore, ClassScores
from seq2see.metrics.confusion import Confusion
from seq2see.render.colours import LIGHT, WARM_LIGHT, mix_colour
from seq2see.render.terminal.terminal_classes import MAX_ROWS, MAX_SQUARE
from seq2see.render.terminal.terminal_evaluation import print_evaluation
from seq2see.render.token_label import show_label
from seq2see.runs.evaluation import Evaluation

COLUMNS = 120  # of a table as text
PAD = "padding: .2em .6em"


class ScoreRenderer:
    """Draws evaluations as tables in a text, or in HTML without scripts and style sheets."""

    def to_text(self, result: Evaluation) -> str:
        """Return the tables of an evaluation as text.

        Args:
            result: the evaluation to show.
        """
        text = io.StringIO()
        console = Console(markup=False, emoji=False, highlight=False, file=text, width=COLUMNS)
        print_evaluation(result, console, title=_name(result))
        return text.getvalue()

    def to_html(self, result: Evaluation) -> str:
        """Return the tables of an evaluation as HTML.

        Args:
            result: the evaluation to show.
        """
        metrics = [[f"<code>{escape(m.name)}</code>", f"{m.value:.2f}", _code(m.signature)] for m in result.metrics]
        parts = [f"<p>{escape(_name(result))}</p>", _write_table(("metric", "value", "signature"), metrics)]
        if result.classes is not None:
            parts.append(_write_classes(result.classes))
            confusion = result.classes.confusion
            if confusion is not None and len(confusion.labels) <= MAX_SQUARE:
                parts.append(_write_square(confusion))
        return "".join(parts)


def _name(result: Evaluation) -> str:
    return f"{result.name}, {say_count(len(result.references), 'pair')}"


def _code(text: str) -> str:
    return f'<code style="overflow-wrap: anywhere">{escape(text)}</code>'


def _write_classes(scores: ClassScores) -> str:
    ranked = scores.rank()
    rows = [_list_cells(each) for each in ranked[:MAX_ROWS]]
    if len(ranked) > MAX_ROWS:
        rows.append([f"… {len(ranked) - MAX_ROWS:,} more in <code>classes.classes</code>"])
    rows += [_list_cells(each) for each in scores.means]
    heads = ("label, the lowest F1 first", "precision", "recall", "F1", "support", "predicted")
    return _write_table(heads, rows)


def _list_cells(each: ClassScore) -> list[str]:
    shares = [f"{value:.2f}" for value in (each.precision, each.recall, each.f1)]
    return [_write_label(each.label), *shares, f"{each.support:,}", f"{each.predicted:,}"]


def _write_label(label: str) -> str:
    return f"<bdi>{escape(show_label(label))}</bdi>"


def _write_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _write_square(confusion: Confusion) -> str:
    """Return the confusion matrix with the colours of the report: blue is right, orange is wrong."""
    heads = "".join(f'<th scope="col">{_write_label(label)}</th>' for label in confusion.labels)
    rows = []
    for row, label in enumerate(confusion.labels):
        total = int(confusion.counts[row].sum())
        cells = [
            _write_cell(count, count / total, right=row == place)
            for place, count in enumerate(confusion.counts[row].tolist())
            if total
        ]
        rows.append(f'<tr><th scope="row">{_write_label(label)}</th>{"".join(cells)}</tr>' if total else "")
    corner = "<th>right label ↓, taken for →</th>"
    return f"<table><thead><tr>{corner}{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _write_cell(count: int, share: float, *, right: bool) -> str:
    colour = mix_colour(share, stops=LIGHT if right else WARM_LIGHT)
    ink = "#ffffff" if share > 0.5 else "#10151d"
    return f'<td style="background: {colour}; color: {ink}; {PAD}; text-align: end">{count:,} ({share:.0%})</td>'
