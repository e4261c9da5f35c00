"""A comparison of runs as a sheet for people: the rows of a table, examples, notes and facts."""

from collections.abc import Callable, Sequence

from seq2see.core.plural import say_count
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics.significance import Tested
from seq2see.render.html.comparison_page import DASH, Row, ScoreCell, Sheet
from seq2see.render.html.report import Example
from seq2see.render.html.run_report import make_example
from seq2see.render.metric_names import name_metric
from seq2see.runs.compared_run import ComparedRun
from seq2see.runs.comparison import Comparison
from seq2see.runs.evaluation import Evaluation

SIGNIFICANT = 0.05  # a p value below this counts as a difference
SMALLEST = 0.001  # p value that is written as a number


def make_sheet(comparison: Comparison, *, examples: int = 4) -> Sheet:
    """Return everything that a comparison shows, with the outputs and the attention of each run for the first sources.

    Args:
        comparison: what was measured of the runs.
        examples: the number of sources to show; 0 shows none and computes no attention maps.
    """
    runs, count = comparison.runs, say_count(len(comparison.pairs), comparison.unit)
    shown = list_shown(comparison)[:examples]
    return Sheet(
        title=f"{_list_names([each.name for each in runs])} on {count}",
        runs=[each.name for each in runs],
        rows=list_rows(comparison),
        lengths=comparison.lengths,
        examples=[[_show(each, comparison.pairs.references, row) for each in runs] for row in shown],
        notes=[f"{each.name}: {note}" for each in runs if each.attention for note in each.attention.notes],
        facts=_list_facts(comparison),
    )


def list_shown(comparison: Comparison) -> list[int]:
    """Return all rows of the data in the order in which they are shown: of labels, those on which runs differ first.

    Args:
        comparison: what was measured of the runs.
    """
    rows = list(range(len(comparison.pairs)))
    if not comparison.of_labels:
        return rows
    return sorted(rows, key=lambda row: len({each.predictions[row].text for each in comparison.runs}) == 1)


def list_rows(comparison: Comparison) -> list[Row]:
    """Return the rows of the table: metrics, speed, size, attention statistics and, with gold alignments, AER.

    Args:
        comparison: what was measured; a value that a run does not have becomes a dash.
    """
    runs = comparison.runs
    first = runs[0]
    rows = [
        Row(name_metric(tested.metric.name), [_say_score(each.tested[place], tested) for each in runs], _order(tested))
        for place, tested in enumerate(first.tested)
    ]
    rows += _list_disagreements(runs)
    rows += [
        Row("speed", [ScoreCell(f"{each.speed:,.1f}") for each in runs], f"{comparison.unit}s/s here"),
        Row("parameters", [ScoreCell(f"{each.parameters:,}") for each in runs]),
        Row("weights", [ScoreCell(f"{each.megabytes:,.1f}") for each in runs], "megabytes"),
        Row(
            "training", [ScoreCell(f"{each.minutes:,.1f}") if each.minutes else ScoreCell() for each in runs], "minutes"
        ),
    ]
    return [*rows, *_list_measures(runs, covering=comparison.lengths is not None), *_list_errors(runs)]


def _list_disagreements(runs: Sequence[ComparedRun]) -> list[Row]:
    """Return the numbers of McNemar's test, if there is one."""
    found = [next((tested.mcnemar for tested in each.tested if tested.mcnemar), None) for each in runs]
    if not any(found):
        return []
    cells = [ScoreCell(f"b {each.b:,}, c {each.c:,}") if each else ScoreCell() for each in found]
    return [Row("right alone", cells, "b: the first run, c: this one")]


def _say_score(tested: Tested, first: Tested) -> ScoreCell:
    """Return the score with half its interval and, for all runs but the first, the p value of the difference."""
    text = f"{tested.metric.value:.2f}"
    if tested.p_value is None:
        return ScoreCell(text, f"± {tested.interval:.2f}")
    up = tested.metric.value > first.metric.value
    word = "better" if up == tested.metric.higher_is_better else "worse"
    chance = f"p {tested.p_value:.3f}" if tested.p_value >= SMALLEST else f"p < {SMALLEST}"
    differs = f", {word}" if tested.p_value < SIGNIFICANT else ""
    return ScoreCell(text, f"± {tested.interval:.2f}, {chance}{differs}")


def _order(tested: Tested) -> str:
    return "" if tested.metric.higher_is_better else "lower is better"


def _list_measures(runs: Sequence[ComparedRun], *, covering: bool) -> list[Row]:
    """Return the rows about attention; `covering` adds those about coverage, which make sense for texts alone."""
    statistics: list[tuple[str, str, Callable[[AttentionStatistics], str]]] = [
        ("attention entropy", "bits", lambda m: f"{m.entropy:.2f}"),
        ("normalised entropy", "100% is uniform", lambda m: f"{m.normalised_entropy:.0%}"),
        ("largest weight", "", lambda m: f"{m.max_weight:.2f}"),
    ]
    if covering:
        statistics += [
            ("source covered", "by 0.5 or more", lambda m: f"{m.coverage:.0%}"),
            ("coverage error", "distance from 1", lambda m: f"{m.coverage_error:.2f}"),
        ]
    rows = []
    for name, about, say in statistics if any(each.attention for each in runs) else []:
        cells = [ScoreCell() if each.attention is None else ScoreCell(say(each.attention)) for each in runs]
        rows.append(Row(name, cells, about))
    if any(each.run.agreement.tau is not None for each in runs):
        rows.append(Row("agreement with leave-one-out", [_say_agreement(each) for each in runs], "mean Kendall's tau"))
    return rows


def _say_agreement(each: ComparedRun) -> ScoreCell:
    """Return what was measured at the end of the training of a run, on held-out inputs of its own."""
    tau, count = each.run.agreement.tau, each.run.agreement.count
    return ScoreCell() if tau is None else ScoreCell(f"{tau:.2f}", say_count(count, "held-out input"))


def _list_errors(runs: Sequence[ComparedRun]) -> list[Row]:
    if not any(each.aligned for each in runs):
        return []
    default, best = [], []
    for each in runs:
        found = each.aligned
        default.append(
            ScoreCell(f"{found.agreements[found.default].aer:.2f}", str(found.default)) if found else ScoreCell()
        )
        best.append(ScoreCell(f"{found.agreements[found.best].aer:.2f}", str(found.best)) if found else ScoreCell())
    rows = [Row("AER", default, "lower is better")]
    several = any(each.aligned and len(each.aligned.agreements) > 1 for each in runs)
    return [*rows, Row("AER, best map", best, "by this very gold")] if several else rows


def _list_facts(comparison: Comparison) -> dict[str, str]:
    first = comparison.runs[0]
    signatures = {name_metric(tested.metric.name): tested.metric.signature for tested in first.tested}
    found = next((each.aligned for each in comparison.runs if each.aligned), None)
    texts = comparison.lengths is not None and not comparison.of_labels
    without_bleu = {"BLEU": "none: no reference has four tokens"} if texts and "BLEU" not in signatures else {}
    covered = "; covered, coverage error: what each source word got in all" if texts else ""
    attention = {} if comparison.of_labels else {"Attention": f"of each run's own outputs{covered}"}
    aligned = {"AER": found.agreements[found.default].signature} if found else {}
    return {
        "Data": comparison.data,
        "p": f"each run against {first.name}, {_say_test(comparison)}; below {SIGNIFICANT} it says better or worse",
        "±": "half the width of the 95 % interval",
        **attention,
        **({"Speed": f"of {comparison.workers} processes together"} if comparison.workers > 1 else {}),
        "Presets": ", ".join(f"{each.name}: {each.run.config.preset or DASH}" for each in comparison.runs),
        **signatures,
        **without_bleu,
        **aligned,
    }


def _say_test(comparison: Comparison) -> str:
    if not comparison.of_labels:
        return "paired bootstrap by sacrebleu"
    return "two-sided: of accuracy McNemar's exact test, of F1 a paired bootstrap"


def _show(each: ComparedRun, references: Sequence[Sequence[str]], row: int) -> Example:
    firsts, others = [first for first, *_ in references], [more for _, *more in references]
    return make_example(Evaluation(each.name, firsts, each.predictions, (), others), row)


def _list_names(names: Sequence[str]) -> str:
    """Return `A, B and C`; of more than four names, the first two and the number of the others."""
    *most, last = names if len(names) <= 4 else [*names[:2], f"{len(names) - 2} more"]
    return f"{', '.join(most)} and {last}"
