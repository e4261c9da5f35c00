"""The table of a comparison, row by row: what is said of scores, differences, sizes, attention and alignments."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from seq2see.config.load import load_config
from seq2see.data.pairs import Pairs
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.head_alignment import HeadSelection
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics import significance
from seq2see.metrics.alignment import Agreement
from seq2see.metrics.length import Bucket, Buckets, LengthScores
from seq2see.metrics.mcnemar import McNemar
from seq2see.metrics.text import Metric
from seq2see.render.comparison_table import list_rows, list_shown, make_sheet
from seq2see.render.html.comparison_page import DASH, Row
from seq2see.runs.checkpoint import Checkpoint, write_checkpoint
from seq2see.runs.compared_run import AlignmentScores, ComparedRun
from seq2see.runs.comparison import Comparison
from seq2see.runs.folder import RunFolder
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.tasks.classification import Classification
from seq2see.tasks.transduction import Transduction

PAIRS = Pairs(["a b", "b", "a"], ["b a", "b", "a"])
LENGTHS = LengthScores(Buckets("words", (Bucket(1, 2, (0, 1, 2), 1.5),)), {"bleu": {"one": [1.0], "two": [2.0]}})


def make_run(folder: Path, *, size: int, task: str = "transduction") -> Run:
    """A run that was never trained, with so many weights that their number is known."""
    base = {"preset": "bahdanau2015", "data": {"train": "x"}, "tokens": {"source": "words", "target": "words"}}
    if task == "classification":
        base = {"preset": "bigru-attention", "data": {"train": "x"}}
    config = load_config(base=base).config
    kind = Transduction if task == "transduction" else Classification
    learned = kind.learn(config, Pairs(["a b", "b a"] * 3, ["x", "y"] * 3))
    model = learned.build(load_config(base=base).config)
    for parameter in [*model.parameters()][:-1]:
        parameter.data = torch.zeros(0)
    [*model.parameters()][-1].data = torch.zeros(size)
    folder.mkdir()
    return Run(RunFolder(folder), config, learned, model)


def compare(runs: Sequence[ComparedRun], **options: object) -> Comparison:
    return Comparison("test.tsv", PAIRS, runs, **{"lengths": LENGTHS, **options})  # type: ignore[arg-type]


def measure(run: Run, name: str, texts: Sequence[str], tested: Sequence[significance.Tested]) -> ComparedRun:
    predictions = [Prediction(text, 0.0, (), (), "", run=run) for text in texts]
    saved = {"w": torch.zeros(374_000 if name == "one" else 60_000)}
    write_checkpoint(run.folder.weights_file, Checkpoint(saved, {"update": 2, "complete": True}))
    return ComparedRun(name, run, predictions, tested, 2.0, None, None)


def score(value: float, p_value: float | None, *, name: str = "bleu", higher: bool = True) -> significance.Tested:
    return significance.Tested(Metric(name, value, f"{name}|n:3", higher_is_better=higher), 1.234, p_value)


@pytest.fixture
def runs(tmp_path: Path) -> list[ComparedRun]:
    """Two runs of texts, the second with everything that there is to measure."""
    first = measure(
        make_run(tmp_path / "first", size=12_345),
        "one",
        ["b", "b", "x"],
        [score(30.0, None), score(50.0, None, name="ter", higher=False)],
    )
    second = measure(
        make_run(tmp_path / "second", size=7),
        "two",
        ["b", "c", "x"],
        [score(31.0, 0.0499), score(52.0, 0.0009, name="ter", higher=False)],
    )
    (tmp_path / "second" / "metrics.jsonl").write_text('{"update": 1, "seconds": 30}\n{"update": 2, "seconds": 60}\n')
    statistics = AttentionStatistics("m", 1.5, 0.25, 0.5, 0.126, 0.75, ("the attention m is stuck.",))
    worse, better = HeadSelection("m", 2), HeadSelection("m", 2, 1)
    agreements = {worse: Agreement(40.0, 50.0, 60.0, "aer|n:3"), better: Agreement(30.5, 50.0, 60.0, "aer|n:3")}
    agreement = AttentionAgreement(0.256, 24)
    return [
        first,
        replace(
            second,
            run=replace(second.run, agreement=agreement),
            attention=statistics,
            aligned=AlignmentScores(worse, better, agreements),
        ),
    ]


def find(rows: Sequence[Row], name: str) -> list[tuple[str, str]]:
    [row] = [row for row in rows if row.name == name]
    return [(cell.text, cell.note) for cell in row.cells]


def test_scores_say_whether_they_differ_and_which_way(runs: list[ComparedRun]) -> None:
    rows = list_rows(compare(runs))
    assert [(row.name, row.about) for row in rows[:2]] == [("BLEU", ""), ("TER", "lower is better")]
    assert find(rows, "BLEU") == [("30.00", "± 1.23"), ("31.00", "± 1.23, p 0.050, better")]
    assert find(rows, "TER") == [("50.00", "± 1.23"), ("52.00", "± 1.23, p < 0.001, worse")]


@pytest.mark.parametrize(
    ("value", "p_value", "higher", "said"),
    [
        (29.0, 0.01, True, "p 0.010, worse"),
        (29.0, 0.01, False, "p 0.010, better"),
        (29.0, 0.05, True, "p 0.050"),
        (31.0, 0.2, True, "p 0.200"),
        (31.0, 0.001, True, "p 0.001, better"),
    ],
)
def test_a_difference_is_named_below_five_percent(
    runs: list[ComparedRun], value: float, p_value: float, higher: bool, said: str
) -> None:
    first = replace(runs[0], tested=[score(30.0, None, higher=higher)])
    second = replace(runs[1], tested=[score(value, p_value, higher=higher)])
    assert find(list_rows(compare([first, second])), "BLEU")[1] == (f"{value:.2f}", f"± 1.23, {said}")


def test_what_runs_cost_and_how_they_attend(runs: list[ComparedRun]) -> None:
    rows = list_rows(compare(runs))
    assert [row.name for row in rows] == [
        *("BLEU", "TER", "speed", "parameters", "weights", "training"),
        *("attention entropy", "normalised entropy", "largest weight", "source covered", "coverage error"),
        *("agreement with leave-one-out", "AER", "AER, best map"),
    ]
    assert find(rows, "speed") == [("1.5", "")] * 2  # three sources in two seconds
    assert find(rows, "parameters") == [("12,345", ""), ("7", "")]
    assert find(rows, "weights") == [("1.5", ""), ("0.2", "")]
    assert find(rows, "training") == [(DASH, ""), ("1.5", "")]
    measured = {"attention entropy": "1.50", "normalised entropy": "25%", "largest weight": "0.75"}
    measured |= {"source covered": "50%", "coverage error": "0.13"}
    for name, said in measured.items():
        assert find(rows, name) == [(DASH, ""), (said, "")], name
    assert find(rows, "agreement with leave-one-out") == [(DASH, ""), ("0.26", "24 held-out inputs")]
    assert find(rows, "AER") == [(DASH, ""), ("40.00", "m, mean of 2 heads")]
    assert find(rows, "AER, best map") == [(DASH, ""), ("30.50", "m, head 1")]


def test_images_have_no_coverage_and_models_without_attention_no_rows_of_it(runs: list[ComparedRun]) -> None:
    names = [row.name for row in list_rows(compare(runs, lengths=None))]
    assert "attention entropy" in names
    assert not {"source covered", "coverage error"} & set(names)
    names = [row.name for row in list_rows(compare([runs[0], replace(runs[0], name="two")]))]
    assert names == ["BLEU", "TER", "speed", "parameters", "weights", "training"]


def test_a_single_map_has_no_best_one(runs: list[ComparedRun]) -> None:
    found = runs[1].aligned
    assert found is not None
    one = replace(found, best=found.default, agreements={found.default: found.agreements[found.default]})
    names = [row.name for row in list_rows(compare([runs[0], replace(runs[1], aligned=one)]))]
    assert names[-1] == "AER"


def test_a_sheet_names_its_runs_and_says_how_all_was_measured(runs: list[ComparedRun]) -> None:
    sheet = make_sheet(compare(runs, workers=3), examples=0)
    assert (sheet.title, sheet.runs, sheet.examples) == ("one and two on 3 sentences", ["one", "two"], [])
    assert sheet.notes == ["two: the attention m is stuck."]
    assert sheet.facts == {
        "Data": "test.tsv",
        "p": "each run against one, paired bootstrap by sacrebleu; below 0.05 it says better or worse",
        "±": "half the width of the 95 % interval",
        "Attention": "of each run's own outputs; covered, coverage error: what each source word got in all",
        "Speed": "of 3 processes together",
        "Presets": "one: bahdanau2015, two: bahdanau2015",
        "BLEU": "bleu|n:3",
        "TER": "ter|n:3",
        "AER": "aer|n:3",
    }
    short = [replace(each, tested=each.tested[1:], aligned=None) for each in runs]
    facts = make_sheet(compare(short), examples=0).facts
    assert facts["BLEU"] == "none: no reference has four tokens"
    assert not {"AER", "Speed"} & facts.keys()
    several = [replace(runs[0], name=name) for name in "abcde"]
    assert make_sheet(compare(several), examples=0).title.startswith("a, b and 3 more on")
    assert make_sheet(compare(several[:4]), examples=0).title.startswith("a, b, c and d on")
    assert make_sheet(compare(runs, lengths=None), examples=0).facts["Attention"] == "of each run's own outputs"


def test_labels_on_which_runs_differ_are_shown_first(tmp_path: Path) -> None:
    first, second = (make_run(tmp_path / name, size=2, task="classification") for name in ("first", "second"))
    one = measure(first, "one", ["x", "y", "x"], [score(60.0, None, name="accuracy")])
    mcnemar = McNemar(1_000, 2, 0.5)
    two = measure(second, "two", ["x", "x", "y"], [replace(score(50.0, 0.5, name="accuracy"), mcnemar=mcnemar)])
    lengths = LengthScores(LENGTHS.buckets, {"accuracy": {"one": [1.0], "two": [2.0]}}, "texts")
    comparison = compare([one, two], lengths=lengths)
    assert list_shown(comparison) == [1, 2, 0]
    assert list_shown(compare([one, one], lengths=lengths)) == [0, 1, 2]
    rows = list_rows(comparison)
    assert find(rows, "right alone") == [(DASH, ""), ("b 1,000, c 2", "")]
    assert [row.name for row in rows] == ["accuracy", "right alone", "speed", "parameters", "weights", "training"]
    sheet = make_sheet(comparison, examples=0)
    assert sheet.title == "one and two on 3 texts"
    assert sheet.facts["p"].startswith("each run against one, two-sided: of accuracy McNemar's exact test")
    assert not {"Attention", "BLEU"} & sheet.facts.keys()
