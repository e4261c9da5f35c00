"""A comparison as people read it: rows of a table, and as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from seq2see.compare import Comparison, Contender
from seq2see.core.number import say_count
from seq2see.inspect.comparison import DASH, Cell, Row, Sheet
from seq2see.inspect.lengths import Lengths
from seq2see.inspect.measures import Measures
from seq2see.inspect.report import Example
from seq2see.metrics.significance import Tested
from seq2see.review import show_attention

SURE = 0.05  # a p below counts as a difference
NAMES = {
    "exact_match": "exact match",
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    **{f"bleu_{order}": f"BLEU-{order}" for order in range(1, 5)},
    "rouge_l": "ROUGE-L",
    "cider_d": "CIDEr-D",
}


def make_sheet(comparison: Comparison, *, examples: int = 4) -> Sheet:
    """Everything to show, with what each run looks at in the first few sentences."""
    contenders = comparison.contenders
    shown, count = range(min(examples, len(comparison.pairs))), say_count(len(comparison.pairs), comparison.unit)
    return Sheet(
        title=f"{_list_names([each.name for each in contenders])} on {count}",
        runs=[each.name for each in contenders],
        rows=list_rows(comparison),
        lengths=comparison.lengths,
        examples=[[_show(each, comparison.pairs.references[row], row) for each in contenders] for row in shown],
        notes=[f"{each.name}: {note}" for each in contenders if each.attention for note in each.attention.notes],
        facts=_list_facts(comparison),
    )


def list_rows(comparison: Comparison) -> list[Row]:
    """What runs are compared by; a dash for what one does not have."""
    contenders = comparison.contenders
    first = contenders[0]
    rows = [
        Row(NAMES[tested.metric.name], [_say_score(each.tested[place], tested) for each in contenders], _order(tested))
        for place, tested in enumerate(first.tested)
    ]
    rows += [
        Row("speed", [Cell(f"{each.speed:,.1f}") for each in contenders], f"{comparison.unit}s/s here"),
        Row("parameters", [Cell(f"{each.parameters:,}") for each in contenders]),
        Row("weights", [Cell(f"{each.megabytes:,.1f}") for each in contenders], "megabytes"),
        Row("training", [Cell(f"{each.minutes:,.1f}") if each.minutes else Cell() for each in contenders], "minutes"),
    ]
    return [*rows, *_list_measures(contenders, covering=comparison.lengths is not None), *_list_errors(contenders)]


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Everything that was measured, for programs."""
    return {
        "data": comparison.data,
        "pairs": len(comparison.pairs),
        "workers": comparison.workers,
        "runs": [_describe(each) for each in comparison.contenders],
        "lengths": comparison.lengths and _describe_lengths(comparison.lengths),
    }


def _describe_lengths(lengths: Lengths) -> dict[str, Any]:
    buckets = lengths.buckets
    return {
        "unit": buckets.unit,
        "buckets": [
            {"low": b.low, "high": b.high, "mean": b.mean, "count": len(b.rows), "few": b.few} for b in buckets.buckets
        ],
        "scores": {metric: dict(runs) for metric, runs in lengths.scores.items()},
    }


def _describe(each: Contender) -> dict[str, Any]:
    tested = {t.metric.name: {**asdict(t.metric), "interval": t.interval, "p_value": t.p_value} for t in each.tested}
    errors = each.aligned and {
        "default": str(each.aligned.default),
        "best": str(each.aligned.best),
        "maps": {str(choice): asdict(agreement) for choice, agreement in each.aligned.agreements.items()},
    }
    return {
        "name": each.name,
        "run": str(each.run.folder.path),
        "preset": each.run.config.preset,
        "metrics": tested,
        "sentences_per_second": each.speed,
        "parameters": each.parameters,
        "megabytes": each.megabytes,
        "training_minutes": each.minutes,
        "attention": each.attention and asdict(each.attention),
        "alignment": errors,
    }


def _say_score(tested: Tested, first: Tested) -> Cell:
    """The score; for all but the first run, how likely its difference would be by luck."""
    text = f"{tested.metric.value:.2f}"
    if tested.p_value is None:
        return Cell(text, f"± {tested.interval:.2f}")
    up = tested.metric.value > first.metric.value
    word = "better" if up == tested.metric.higher_is_better else "worse"
    return Cell(
        text, f"± {tested.interval:.2f}, p {tested.p_value:.3f}" + (f", {word}" if tested.p_value < SURE else "")
    )


def _order(tested: Tested) -> str:
    return "" if tested.metric.higher_is_better else "less is better"


def _list_measures(contenders: Sequence[Contender], *, covering: bool) -> list[Row]:
    """Numbers about attention; whether all of the source is looked at is a question for texts."""
    looks: list[tuple[str, str, Callable[[Measures], str]]] = [
        ("attention entropy", "bits", lambda m: f"{m.entropy:.2f}"),
        ("attention spread", "100% is uniform", lambda m: f"{m.spread:.0%}"),
        ("largest weight", "", lambda m: f"{m.peak:.2f}"),
    ]
    if covering:
        looks += [
            ("source covered", "by 0.5 or more", lambda m: f"{m.coverage:.0%}"),
            ("coverage error", "distance from 1", lambda m: f"{m.deviation:.2f}"),
        ]
    rows = []
    for name, about, say in looks:
        cells = [Cell() if each.attention is None else Cell(say(each.attention)) for each in contenders]
        rows.append(Row(name, cells, about))
    return rows


def _list_errors(contenders: Sequence[Contender]) -> list[Row]:
    if not any(each.aligned for each in contenders):
        return []
    default, best = [], []
    for each in contenders:
        found = each.aligned
        default.append(Cell(f"{found.agreements[found.default].aer:.2f}", str(found.default)) if found else Cell())
        best.append(Cell(f"{found.agreements[found.best].aer:.2f}", str(found.best)) if found else Cell())
    rows = [Row("AER", default, "less is better")]
    several = any(each.aligned and len(each.aligned.agreements) > 1 for each in contenders)
    return [*rows, Row("AER, best map", best, "by this very gold")] if several else rows


def _list_facts(comparison: Comparison) -> dict[str, str]:
    first = comparison.contenders[0]
    signatures = {NAMES[tested.metric.name]: tested.metric.signature for tested in first.tested}
    found = next((each.aligned for each in comparison.contenders if each.aligned), None)
    blind = {} if "BLEU" in signatures or comparison.lengths is None else {"BLEU": "none: no reference has four tokens"}
    aligned = {"AER": found.agreements[found.default].signature} if found else {}
    return {
        "Data": comparison.data,
        "p": f"paired bootstrap against {first.name}, by sacrebleu; below {SURE} it says better or worse",
        "±": "half the width of the 95 % interval",
        "Attention": "of each run's own outputs"
        + ("; covered, coverage error: what each source word got in all" if comparison.lengths else ""),
        **({"Speed": f"of {comparison.workers} processes together"} if comparison.workers > 1 else {}),
        "Presets": ", ".join(f"{each.name}: {each.run.config.preset or DASH}" for each in comparison.contenders),
        **signatures,
        **blind,
        **aligned,
    }


def _show(each: Contender, references: Sequence[str], row: int) -> Example:
    one, (first, *others) = each.predictions[row], references
    return Example(one.source, one.text, first, one.score, show_attention(one), others)


def _list_names(names: Sequence[str]) -> str:
    """A, B and C; of many, the first two."""
    *most, last = names if len(names) <= 4 else [*names[:2], f"{len(names) - 2} more"]
    return f"{', '.join(most)} and {last}"
