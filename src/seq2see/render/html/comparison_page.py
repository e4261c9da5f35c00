"""A comparison of runs as one page: a table, scores by source length, and the attention of each run in examples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue

from seq2see.metrics.length import LengthScores
from seq2see.render.figures.length_curve import NAMES
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, pack_example

DASH = "–"  # in place of a value that a run does not have


@dataclass(frozen=True)
class ScoreCell:
    """The value of one run in a row of the table.

    Args:
        text: the value as it is shown; a dash if the run has none.
        note: a remark behind it, such as the interval and the p value; may be empty.
    """

    text: str = DASH
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One quantity that runs are compared by.

    Args:
        name: the name of the quantity, such as BLEU.
        cells: its value for each run, in the order of the runs.
        about: its unit, or how to read it, such as `lower is better`; may be empty.
    """

    name: str
    cells: Sequence[ScoreCell]
    about: str = ""


@dataclass(frozen=True)
class Sheet:
    """Everything that a comparison shows; cells and examples are in the order of the runs.

    Args:
        title: the title of the page and of the table.
        runs: the names of the runs, the baseline first.
        rows: the rows of the table.
        lengths: the scores by source length; None for images, which have no length.
        examples: for each source that is shown, the output of each run.
        notes: remarks on the attention of single runs, each with the name of its run.
        facts: how everything was measured, by a heading.
    """

    title: str
    runs: Sequence[str]
    rows: Sequence[Row]
    lengths: LengthScores | None
    examples: Sequence[Sequence[Example]] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def render_comparison(sheet: Sheet) -> str:
    """Return the comparison as one self-contained HTML page.

    Args:
        sheet: the comparison.
    """
    return render_page(pack_comparison(sheet))


def pack_comparison(sheet: Sheet) -> dict[str, JsonValue]:
    """Return the payload of the page, in plain values that become JSON.

    Args:
        sheet: the comparison.
    """
    return {
        "title": sheet.title,
        "runs": list(sheet.runs),
        "rows": [asdict(row) for row in sheet.rows],
        "lengths": None if sheet.lengths is None else _pack_lengths(sheet.lengths),
        "examples": [[pack_example(example) for example in examples] for examples in sheet.examples],
        "notes": list(sheet.notes),
        "facts": dict(sheet.facts),
    }


def _pack_lengths(lengths: LengthScores) -> dict[str, JsonValue]:
    buckets = lengths.buckets.buckets
    return {
        "unit": lengths.buckets.unit,
        "counted": lengths.counted,
        "buckets": [{"label": b.label, "count": len(b.rows), "mean": b.mean, "few": b.few} for b in buckets],
        "scores": [
            {"name": NAMES.get(name, name), "runs": [list(values) for values in runs.values()]}
            for name, runs in lengths.scores.items()
        ],
    }
