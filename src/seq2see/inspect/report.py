"""The report of a run: what it scored, how it learned, what it wrote and where it went wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rapidfuzz.distance import Levenshtein

from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.document import DocumentTrace
from seq2see.inspect.page import render_page
from seq2see.inspect.panel import check_map

BUDGET = 20_000  # weights of one example; beyond that a report keeps the mean of the heads, to stay small


@dataclass(frozen=True)
class Score:
    """One number, and the signature that lets others compute the same one."""

    name: str
    value: int | float
    signature: str
    unit: str = ""


@dataclass(frozen=True)
class Example:
    """One output of the model; `target` is what it wrote, `reference` what it should have written."""

    source: str
    target: str
    reference: str | None
    score: int | float  # log-probability per token or confidence
    trace: AttentionTrace | DocumentTrace | None = None
    others: Sequence[str] = ()  # further references; where there are any, none says that the output is wrong


@dataclass(frozen=True)
class Report:
    """Everything a report shows; a row of the history may lack any of its keys."""

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[Score] = ()
    history: Sequence[Mapping[str, int | float]] = ()
    examples: Sequence[Example] = ()
    mistakes: Sequence[Example] = ()


def render_report(report: Report) -> str:
    """The report as one self-contained HTML page."""
    return render_page(pack_report(report))


def pack_report(report: Report) -> dict[str, Any]:
    """The payload of the page."""
    return {
        "title": report.title,
        "facts": dict(report.facts),
        "scores": [asdict(score) for score in report.scores],
        "history": [dict(row) for row in report.history],
        "examples": [pack_example(example) for example in report.examples],
        "mistakes": [pack_example(example) for example in report.mistakes],
    }


def compare_texts(prediction: str, reference: str) -> list[list[str]]:
    """The edits from prediction to reference: kind, part of the prediction, part of the reference."""
    edits = Levenshtein.opcodes(prediction, reference)
    return [[e.tag, prediction[e.src_start : e.src_end], reference[e.dest_start : e.dest_end]] for e in edits]


def pack_example(example: Example) -> dict[str, Any]:
    """The payload of one output."""
    wrong = example.reference not in (None, example.target) and not example.others
    return {
        "source": example.source,
        "target": example.target,
        "reference": example.reference,
        "others": list(example.others),
        "score": example.score,
        "edits": compare_texts(example.target, example.reference or "") if wrong else None,
        "trace": None if example.trace is None else _pack_trace(example.trace),
    }


def _pack_trace(trace: AttentionTrace | DocumentTrace) -> dict[str, Any]:
    if isinstance(trace, DocumentTrace):
        return trace.to_dict()
    maps = [check_map(each, trace=trace) for each in trace.maps]
    if sum(each.weights.size for each in maps) <= BUDGET:
        return trace.to_dict()
    means = [each.weights.mean(axis=0, keepdims=True) for each in maps]
    packed = zip(maps, means, strict=True)
    kept = [{**vars(m), "weights": mean.tolist(), "averaged": m.weights.shape[0]} for m, mean in packed]
    # the rest of the payload without spelling out the weights that are left out
    return {**replace(trace, maps=()).to_dict(), "maps": kept}
