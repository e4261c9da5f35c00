"""Several runs as one page: a table, scores by length, and what each looks at in the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from seq2see.inspect.lengths import NAMES, Lengths
from seq2see.inspect.page import render_page
from seq2see.inspect.report import Example, pack_example

DASH = "–"  # for what a run does not have


@dataclass(frozen=True)
class Cell:
    """What one run has in a row, with a remark."""

    text: str = DASH
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One thing that runs are compared by."""

    name: str
    cells: Sequence[Cell]
    about: str = ""


@dataclass(frozen=True)
class Sheet:
    """Everything a comparison shows; cells and examples are in the order of the runs."""

    title: str
    runs: Sequence[str]
    rows: Sequence[Row]
    lengths: Lengths | None  # None for pictures, which have none
    examples: Sequence[Sequence[Example]] = ()  # for each sentence, what each run made of it
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def render_comparison(sheet: Sheet) -> str:
    """The comparison as one self-contained HTML page."""
    return render_page(pack_comparison(sheet))


def pack_comparison(sheet: Sheet) -> dict[str, Any]:
    """The payload of the page."""
    return {
        "title": sheet.title,
        "runs": list(sheet.runs),
        "rows": [asdict(row) for row in sheet.rows],
        "lengths": sheet.lengths and _pack_lengths(sheet.lengths),
        "examples": [[pack_example(example) for example in examples] for examples in sheet.examples],
        "notes": list(sheet.notes),
        "facts": dict(sheet.facts),
    }


def _pack_lengths(lengths: Lengths) -> dict[str, Any]:
    buckets = lengths.buckets.buckets
    return {
        "unit": lengths.buckets.unit,
        "buckets": [{"label": b.label, "count": len(b.rows), "mean": b.mean, "few": b.few} for b in buckets],
        "scores": [
            {"name": NAMES.get(name, name), "runs": [list(values) for values in runs.values()]}
            for name, runs in lengths.scores.items()
        ],
    }
