"""Several runs as one page: a table, scores by length, and the attention of each in the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue

from seq2see.metrics.length import LengthScores
from seq2see.render.figures.length_curve import NAMES
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, pack_example

DASH = "–"  # for what a run does not have


@dataclass(frozen=True)
class ScoreCell:
    """The value of one run in a row, with a remark."""

    text: str = DASH
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One quantity that runs are compared by.

    Args:
        name: of the quantity.
        cells: its value for each run.
        about: its unit, or how to read it.
    """

    name: str
    cells: Sequence[ScoreCell]
    about: str = ""


@dataclass(frozen=True)
class Sheet:
    """Everything a comparison shows; cells and examples are in the order of the runs.

    Args:
        title: of the page.
        runs: the names of the runs, the baseline first.
        rows: the table.
        lengths: scores by source length; None for images.
        examples: for each source, the output of each run.
        notes: what is odd about any run.
        facts: how it was measured.
    """

    title: str
    runs: Sequence[str]
    rows: Sequence[Row]
    lengths: LengthScores | None
    examples: Sequence[Sequence[Example]] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def render_comparison(sheet: Sheet) -> str:
    """The comparison as one self-contained HTML page."""
    return render_page(pack_comparison(sheet))


def pack_comparison(sheet: Sheet) -> dict[str, JsonValue]:
    """The payload of the page."""
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
        "buckets": [{"label": b.label, "count": len(b.rows), "mean": b.mean, "few": b.few} for b in buckets],
        "scores": [
            {"name": NAMES.get(name, name), "runs": [list(values) for values in runs.values()]}
            for name, runs in lengths.scores.items()
        ],
    }
