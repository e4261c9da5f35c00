"""The report of a run as one page: its metrics, its learning curves, examples and mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue
from rapidfuzz.distance import Levenshtein

from seq2see.explain.output_trace import OutputTrace
from seq2see.render.html.page import render_page

MAX_WEIGHTS = 20_000  # of one example; beyond that a report keeps the mean over heads, to stay small


@dataclass(frozen=True)
class ScoreRow:
    """One number, and the signature that lets others compute the same one."""

    name: str
    value: int | float
    signature: str
    unit: str = ""


@dataclass(frozen=True)
class Example:
    """One output of a model.

    Args:
        source: the input.
        target: what the model wrote.
        reference: what it should have written.
        score: the log-probability per token, or the confidence in a label.
        trace: the attention behind it.
        further_references: other right outputs; where there are any, none says that the output is wrong.
    """

    source: str
    target: str
    reference: str | None
    score: int | float
    trace: OutputTrace | None = None
    further_references: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """Everything a report shows.

    Args:
        title: of the page.
        facts: what the run is and how it was scored.
        scores: its metrics.
        history: the rows of metrics.jsonl; a row may lack any key.
        examples, mistakes: some of its outputs.
    """

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[ScoreRow] = ()
    history: Sequence[Mapping[str, int | float]] = ()
    examples: Sequence[Example] = ()
    mistakes: Sequence[Example] = ()


def render_report(report: Report) -> str:
    """The report as one self-contained HTML page."""
    return render_page(pack_report(report))


def pack_report(report: Report) -> dict[str, JsonValue]:
    """The payload of the page."""
    return {
        "title": report.title,
        "facts": dict(report.facts),
        "scores": [asdict(score) for score in report.scores],
        "history": [dict(row) for row in report.history],
        "examples": [pack_example(example) for example in report.examples],
        "mistakes": [pack_example(example) for example in report.mistakes],
    }


def compare_texts(prediction: str, reference: str) -> list[JsonValue]:
    """The edits from prediction to reference: kind, part of the prediction, part of the reference."""
    edits = Levenshtein.opcodes(prediction, reference)
    return [[e.tag, prediction[e.src_start : e.src_end], reference[e.dest_start : e.dest_end]] for e in edits]


def pack_example(example: Example) -> dict[str, JsonValue]:
    """The payload of one output."""
    wrong = example.reference not in (None, example.target) and not example.further_references
    return {
        "source": example.source,
        "target": example.target,
        "reference": example.reference,
        "further_references": list(example.further_references),
        "score": example.score,
        "edits": [*compare_texts(example.target, example.reference or "")] if wrong else None,
        "trace": None if example.trace is None else example.trace.renderer.pack(example.trace, max_weights=MAX_WEIGHTS),
    }
