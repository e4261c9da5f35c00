"""The scores of labels as tables: in the terminal, as text, and as HTML for a notebook."""

import io
from unittest.mock import Mock

import pytest
from rich.console import Console

from seq2see.metrics.class_scores import ClassScores, score_classes, score_label_sets
from seq2see.metrics.text import Metric
from seq2see.render.terminal.terminal_classes import print_classes
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

TRUE = ["cat", "cat", "cat", "dog", "dog", "owl"]
CHOSEN = ["cat", "cat", "dog", "dog", "cat", "dog"]


def write_table(scores: ClassScores, *, width: int = 90) -> list[list[str]]:
    """The cells of all lines that are printed, as words."""
    file = io.StringIO()
    print_classes(scores, Console(file=file, width=width, markup=False, emoji=False, highlight=False))
    return [
        [cell.strip() for cell in line.strip("│┃ \n").replace("┃", "│").split("│")]
        for line in file.getvalue().split("\n")
    ]


def test_labels_with_the_lowest_f1_come_first_and_means_last() -> None:
    rows = write_table(score_classes(CHOSEN, TRUE))
    names = [row[0] for row in rows if len(row) == 6]
    assert names == ["label", "owl", "dog", "cat", "macro mean", "weighted mean"]
    assert ["dog", "33.33", "50.00", "40.00", "2", "3"] in rows
    assert ["right ↓, taken for →", "cat", "dog", "owl"] in rows
    assert ["cat", "2", "1", "·"] in rows
    assert ["owl", "·", "1", "·"] in rows


def test_of_many_labels_the_worst_are_printed_and_the_confusions_listed() -> None:
    names = [f"a class with a name that is long, number {number:03d}" for number in range(100)]
    outputs = [names[5] if place == 7 else name for place, name in enumerate(names)]
    lines = write_table(score_classes(outputs, names), width=80)
    assert all(len("".join(row)) <= 80 for row in lines)
    assert any(row[0].startswith("... 80 more labels; --json and report.html have all") for row in lines)
    assert [row[1:] for row in lines if len(row) == 6][1] == ["0.00", "0.00", "0.00", "1", "0"]  # 7, with an F1 of 0
    assert [row[2:] for row in lines if len(row) == 4] == [["sources", "of this label"], ["1", "100%"]]


def test_a_matrix_that_is_too_wide_becomes_a_list() -> None:
    names = [f"{word} and some words more" for word in ("one", "two", "three", "four", "five")]
    scores = score_classes(names[1:] + names[:1], names)
    assert any("most frequent confusions" in row[0] for row in write_table(scores, width=60))
    assert not any("most frequent confusions" in row[0] for row in write_table(scores, width=100))
    assert not any("confusions" in row[0] for row in write_table(score_label_sets([["a"]], [["a", "b"]])))


def evaluate(scores: ClassScores | None) -> Evaluation:
    predictions = [Prediction("cat", 0.5, (), (), "x", run=Mock(Run))]
    return Evaluation("<test> data", ["cat"], predictions, [Metric("accuracy", 50.0, "accuracy|n:6")], classes=scores)


def test_an_evaluation_is_a_table_in_a_notebook() -> None:
    shown = evaluate(score_classes(["<b>", *CHOSEN], ["cat", *TRUE]))._repr_html_()
    assert "&lt;test&gt; data, 1 pair" in shown
    assert "<b>" not in shown
    assert "<td>50.00</td>" in shown
    assert shown.count("<table>") == 3
    assert "2 (50%)" in shown  # of four cats
    assert evaluate(None)._repr_html_().count("<table>") == 1


def test_an_evaluation_has_its_tables_as_text() -> None:
    assert "weighted mean" in evaluate(score_classes(CHOSEN, TRUE)).table()
    assert "weighted mean" not in evaluate(None).table()


@pytest.mark.parametrize("label", ["a\nb", "شكر", "très bien"])
def test_labels_are_printed_as_they_are_but_for_controls(label: str) -> None:
    shown = evaluate(score_classes([label, "x"], [label, label])).table()
    assert label.replace("\n", "␊") in shown
