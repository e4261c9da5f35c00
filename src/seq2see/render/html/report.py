"""The report of a run as one page: its metrics, its learning curves, examples and mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue
from rapidfuzz.distance import Levenshtein

from seq2see.core.token import Token
from seq2see.explain.output_trace import OutputTrace
from seq2see.metrics.class_scores import ClassScores
from seq2see.render.html.label_scores import pack_classes
from seq2see.render.html.page import render_page
from seq2see.runs.held_out_file import NOTHING, HeldOut

MAX_WEIGHTS = 20_000  # of one example; with more, a report keeps the mean over heads, to stay small


@dataclass(frozen=True)
class ScoreRow:
    """One metric of a report.

    Args:
        name: the name of the metric.
        value: its value, in the units of `unit`.
        signature: how it was computed, in the words that let others compute the same number.
        unit: what is written behind the value; may be empty.
    """

    name: str
    value: int | float
    signature: str
    unit: str = ""


@dataclass(frozen=True)
class Example:
    """One output of a model.

    Args:
        source: the input: a text, or the path of an image.
        target: the output of the model.
        reference: the correct output, or the first of several; None if it is not known.
        score: the score by which the search ranks a text, or the probability of a label.
        trace: the attention behind the output; None without attention.
        further_references: other correct outputs; if there are any, the page shows no differences from the reference.
        number: the number of the input in its data, from 1, by which the table of all lines leads here; None without.
        unknown: the pieces of the source that the run does not know.
        labels: the chosen and the correct labels; None if outputs are texts, which are compared by letters.
    """

    source: str
    target: str
    reference: str | None
    score: int | float
    trace: OutputTrace | None = None
    further_references: Sequence[str] = ()
    number: int | None = None
    unknown: Sequence[Token] = ()
    labels: tuple[Sequence[str], Sequence[str]] | None = None


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Args:
        title: the title of the page.
        facts: what the run is and how it was scored, by a heading.
        scores: the metrics of the run.
        history: the rows of metrics.jsonl, for the learning curves; a row may lack any key.
        examples: some outputs, whatever their quality.
        mistakes: some wrong outputs, or of captions those with the lowest scores.
        held_out: the outputs for all inputs, as far as they fit, for a table.
        classes: the scores of each label, and the confusion matrix; None for texts.
    """

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[ScoreRow] = ()
    history: Sequence[Mapping[str, int | float]] = ()
    examples: Sequence[Example] = ()
    mistakes: Sequence[Example] = ()
    held_out: HeldOut = NOTHING
    classes: ClassScores | None = None


def render_report(report: Report) -> str:
    """Return the report as one self-contained HTML page.

    Args:
        report: the report.
    """
    return render_page(pack_report(report))


def pack_report(report: Report) -> dict[str, JsonValue]:
    """Return the payload of the page, in plain values that become JSON.

    Args:
        report: the report.
    """
    return {
        "title": report.title,
        "facts": dict(report.facts),
        "scores": [asdict(score) for score in report.scores],
        "history": [dict(row) for row in report.history],
        "examples": [pack_example(example) for example in report.examples],
        "mistakes": [pack_example(example) for example in report.mistakes],
        "held_out": pack_held_out(report.held_out),
        "classes": None if report.classes is None else pack_classes(report.classes),
    }


def pack_held_out(held_out: HeldOut) -> dict[str, JsonValue]:
    """Return the payload of the table of all lines; a page cuts sources that are long.

    Args:
        held_out: the lines.
    """
    lines = [{**asdict(line), "references": list(line.references)} for line in held_out.lines]
    return {"data": held_out.data, "count": held_out.count, "lines": [*lines]}


def compare_texts(prediction: str, reference: str) -> list[JsonValue]:
    """Return the smallest list of edits that turn a prediction into its reference.

    Args:
        prediction: the output of a model.
        reference: the correct output.

    Returns:
        For each edit its kind (equal, replace, insert or delete), the part of the prediction that it removes or keeps,
        and the part of the reference that takes its place.
    """
    edits = Levenshtein.opcodes(prediction, reference)
    return [[e.tag, prediction[e.src_start : e.src_end], reference[e.dest_start : e.dest_end]] for e in edits]


def compare_labels(chosen: Sequence[str], correct: Sequence[str]) -> list[JsonValue]:
    """Return the edits that turn chosen labels into the correct ones, in the form of `compare_texts`.

    Whole labels are compared, and their order has no meaning: those in both come first.

    Args:
        chosen: the labels that a model chose.
        correct: the correct labels.
    """
    both = [each for each in chosen if each in correct]
    wrong, missing = ([each for each in side if each not in both] for side in (chosen, correct))
    shared = ", ".join(both)
    gaps = [f"{shared}, " if both and side else shared for side in (wrong, missing)]
    known: list[JsonValue] = [["equal", *gaps]] if both else []
    return [*known, ["replace", ", ".join(wrong), ", ".join(missing)]]


def pack_example(example: Example) -> dict[str, JsonValue]:
    """Return the payload of one output, in plain values that become JSON.

    Args:
        example: the output; a trace with more than 20,000 weights is packed without its heads.
    """
    wrong = example.reference not in (None, example.target) and not example.further_references
    return {
        "source": example.source,
        "target": example.target,
        "reference": example.reference,
        "further_references": list(example.further_references),
        "score": example.score,
        "number": example.number,
        "edits": _list_edits(example) if wrong else None,
        "unknown": [{"start": each.start, "end": each.end} for each in example.unknown],
        "trace": None if example.trace is None else example.trace.renderer.pack(example.trace, max_weights=MAX_WEIGHTS),
    }


def _list_edits(example: Example) -> list[JsonValue]:
    if example.labels is not None:
        return compare_labels(*example.labels)
    return compare_texts(example.target, example.reference or "")
