"""The facts of a report, how many outputs it shows, and the tables of a comparison in the terminal."""

import io
import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console
from torch import nn

from seq2see.explain.attention_agreement import NOT_MEASURED
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics.length import Bucket, Buckets, LengthScores
from seq2see.metrics.text import Metric
from seq2see.render.html import run_report
from seq2see.render.html.comparison_page import Row, ScoreCell, Sheet
from seq2see.render.html.run_report import write_report
from seq2see.render.terminal.terminal_comparison import print_comparison
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.folder import RunFolder
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

STATISTICS = AttentionStatistics("m", 1.256, 0.25, 0.5, 0.1, 0.75, ("one is odd.", "two, too."))


def make_evaluation(folder: Path, count: int, *, words: bool = True) -> Evaluation:
    """So many outputs, of which the first two are right, of a model with eight weights."""
    source = Mock(tokenizer=Mock() if words else None, sentences=lambda _: [])
    task = Mock(is_correct=str.__eq__, source=source, writes_text=True)
    config = Mock(preset="bahdanau2015")
    run = Mock(Run, folder=RunFolder(folder), config=config, model=nn.Linear(3, 2), task=task, agreement=NOT_MEASURED)
    predictions = [Prediction(f"o{row}", row / 100, (), (), f"s{row}", run=run) for row in range(count)]
    references = [f"o{row}" if row < 2 else "other" for row in range(count)]
    return Evaluation("dev.tsv", references, predictions, [Metric("exact_match", 12.5, "exact|n:16")])


def write(folder: Path, result: Evaluation) -> Any:
    """The payload of the report."""
    page = write_report(result.predictions[0].run, result).read_text()
    found = re.search(r'id="seq2see-payload">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_report_has_the_facts_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def measure(_: Run, some: list[Prediction]) -> AttentionStatistics:
        measured.append(len(some))
        return STATISTICS

    monkeypatch.setattr(run_report, "measure_attention", measure)
    monkeypatch.setattr(run_report, "MAX_MEASURED", 5)
    (tmp_path / "metrics.jsonl").write_text(
        '{"update": 1000, "seconds": 30}\n{"update": 2000, "seconds": null}\n{"update": 3000, "seconds": 63}\n'
    )
    payload = write(tmp_path, make_evaluation(tmp_path, 16))
    assert payload["title"] == f"{tmp_path.name}: report on dev.tsv"
    facts = payload["facts"]
    assert (facts["Preset"], facts["Parameters"]) == ("bahdanau2015", "8")
    assert facts["Training"] == "3,000 updates, 1.6 minutes"  # 93 seconds
    assert facts["Scored on"] == "16 pairs (dev.tsv)"
    assert facts["Attention"] == (
        "entropy 1.26 bits (25% of uniform), largest weight 0.75, 50% of the source covered. "
        "Note: one is odd. Note: two, too."
    )
    assert facts["Faithfulness"].startswith("attention and leave-one-out were not compared: not measured")
    assert measured == [5]
    [score] = payload["scores"]
    assert (score["name"], score["value"], score["signature"]) == ("exact match", 12.5, "exact|n:16")
    assert [each["source"] for each in payload["examples"]] == [f"s{row}" for row in range(6)]
    assert [each["source"] for each in payload["mistakes"]] == [f"s{row}" for row in range(15, 3, -1)]  # the surest


def test_images_have_no_words_to_cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_report, "measure_attention", lambda *_: STATISTICS)
    facts = write(tmp_path, make_evaluation(tmp_path, 3, words=False))["facts"]
    assert "covered" not in facts["Attention"]
    assert facts["Training"] == "unknown"
    assert "Confusions" not in facts
    monkeypatch.setattr(run_report, "measure_attention", lambda *_: None)
    assert "Attention" not in write(tmp_path, make_evaluation(tmp_path, 3))["facts"]


LENGTHS = LengthScores(
    Buckets("words", (Bucket(1, 5, tuple(range(1200)), 3.5), Bucket(6, 40, (1200, 1201), 20.0))),
    {"bleu": {"one": [30.0, 20.126], "two": [25.0, 5.0]}, "chrf": {"one": [1.0, 2.0], "two": [3.0, 4.0]}},
)


def show(sheet: Sheet, metric: str | None = None) -> list[list[str]]:
    """The lines that are printed, divided where there are lines or gaps between columns."""
    console = Console(width=120, record=True, file=io.StringIO())
    print_comparison(sheet, console, metric=metric)
    lines = re.sub("[│┃]", "  ", console.export_text()).splitlines()
    return [[cell for cell in re.split(r"\s{2,}", line.strip()) if cell] for line in lines]


def test_a_comparison_is_printed_with_its_lengths_notes_and_facts() -> None:
    rows = [
        Row("BLEU", [ScoreCell("30.0"), ScoreCell("25.0", "p 0.010, worse")], "of 100"),
        Row("AER", [ScoreCell()] * 2),
    ]
    sheet = Sheet("two runs", ["one", "two"], rows, LENGTHS, notes=["one: odd."], facts={"Data": "test.tsv"})
    lines = show(sheet)
    for line in (
        ["two runs"],
        ["one", "two"],
        ["BLEU, of 100", "30.0", "25.0 p 0.010, worse"],
        ["AER", "–", "–"],
        ["BLEU by source length"],
        ["words", "sentences", "one", "two"],
        ["1–5", "1,200", "30.00", "25.00"],
        ["6–40", "2 (few)", "20.13", "5.00"],
        ["note: one: odd."],
        ["Data: test.tsv"],
    ):
        assert line in lines, line
    assert ["1–5", "1,200", "1.00", "3.00"] in show(sheet, "chrf")
    assert ["words", "sentences", "one", "two"] not in show(Sheet("two runs", ["one", "two"], rows, None))
