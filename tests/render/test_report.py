"""The report packs everything it is given, and says what is missing."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from seq2see.data.modalities.label_set import Labels
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.metrics.class_scores import score_classes, score_label_sets
from seq2see.metrics.confusion import count_confusion
from seq2see.render.html.label_scores import pack_classes
from seq2see.render.html.report import (
    Example,
    Report,
    ScoreRow,
    compare_texts,
    pack_example,
    render_report,
)
from seq2see.render.html.run_report import make_example, say_confusions
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.tasks.classification import Classification

ATTACK = "</script><img src=x onerror=alert(1)>"


def read_report(report: Report) -> Any:
    """The payload inside the rendered page."""
    page = render_report(report)
    found = re.search(r'<script type="application/json" id="seq2see-payload">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_everything_is_packed(hand_trace: AttentionTrace) -> None:
    report = Report(
        title="Dates",
        facts={"preset": "tiny"},
        scores=[ScoreRow("exact match", 98.7, "exact|v1", "%")],
        history=[{"update": 1, "loss": 2.5}, {"update": 2, "valid_loss": 1.5, "exact_match": 0.5}],
        examples=[Example("ab", "xy", "xy", -0.1, hand_trace)],
        mistakes=[Example("ab", "xz", "xy", -0.9)],
    )
    payload = read_report(report)
    assert payload["facts"] == {"preset": "tiny"}
    assert payload["scores"] == [{"name": "exact match", "value": 98.7, "signature": "exact|v1", "unit": "%"}]
    assert payload["history"] == [dict(row) for row in report.history]
    assert payload["examples"][0]["trace"] == hand_trace.to_dict()
    assert payload["examples"][0]["edits"] is None
    assert payload["mistakes"][0]["edits"] == [["equal", "x", "x"], ["replace", "z", "y"]]
    assert payload["mistakes"][0]["trace"] is None


def test_of_several_references_none_makes_a_mistake_and_the_farthest_captions_come_first() -> None:
    outputs = ["a dog runs", "a cat", "a dog"]
    run = Mock(Run, task=Mock(is_correct=str.__eq__, source=Mock(tokenizer=None, sentences=lambda _: [])))
    predictions = [Prediction(text, 0.5, (), (), f"{text}.png", run=run) for text in outputs]
    several = Evaluation("dev", ["a dog runs", "two men", "a dog"], predictions, [], [["one dog"], ["two women"], []])
    assert several.mistakes[0] == 1
    assert sorted(several.mistakes) == [0, 1, 2]
    packed = pack_example(make_example(several, 1))
    assert (packed["edits"], packed["reference"], packed["further_references"]) == (None, "two men", ["two women"])
    run.task.source.tokenizer = Mock()  # of several texts any is right
    assert replace(several, references=["x", "two men", "a dog"], more=[["a dog runs"], ["a bat"], []]).mistakes == [1]
    single = replace(several, more=())
    assert single.mistakes == [1]
    assert pack_example(make_example(single, 1))["edits"] is not None


def test_labels_are_right_however_they_are_written() -> None:
    target = Labels(separator="|").learn(["a|b", "b", "c"])
    run = Mock(Run, task=Classification(Mock(sentences=lambda _: []), target))
    outputs, references = ["b|a", "b", "c"], ["a | b", " b", "a|c"]
    predictions = [Prediction(text, 0.5, (), (), text, run=run) for text in outputs]
    result = Evaluation("dev", references, predictions, [])
    assert result.mistakes == [2]
    assert [pack_example(make_example(result, row))["edits"] is None for row in range(3)] == [True, True, False]


def test_labels_that_are_mixed_up_are_named() -> None:
    chosen = ["cat", "cat", "dog", "cat"]
    found = say_confusions(count_confusion(chosen, ["dog", "dog", "dog", "owl"]))
    assert found == "'dog' taken for 'cat' (2), 'owl' taken for 'cat' (1)"
    assert say_confusions(count_confusion(chosen, chosen)) == "none"


def test_the_scores_of_labels_are_packed_with_the_lowest_first() -> None:
    scores = score_classes(["a", "", "b", "b"], ["a", "a", "b", "a"])
    payload = read_report(Report("labels", classes=scores))["classes"]
    assert [each["label"] for each in payload["classes"]] == ["a", "b"]
    assert payload["classes"][0] == pytest.approx(
        {"label": "a", "precision": 100, "recall": 100 / 3, "f1": 50, "support": 3, "predicted": 1}
    )
    assert [each["label"] for each in payload["means"]] == ["macro mean", "weighted mean"]
    assert payload["confusion"]["labels"] == ["(empty input)", "a", "b"]
    assert payload["confusion"]["counts"] == [[0, 0, 0], [1, 1, 1], [0, 0, 1]]
    several = score_label_sets([{"a"}], [{"a", "b"}])
    assert read_report(Report("several", classes=several))["classes"]["confusion"] is None
    assert read_report(Report("texts"))["classes"] is None


def test_a_report_has_a_matrix_of_a_hundred_labels_at_most() -> None:
    names = [f"class {number:03d}" for number in range(130)]
    payload = pack_classes(score_classes(names, [*names[-5:], *names[:-5]]))
    assert len(payload["classes"]) == 130
    assert len(payload["confusion"]["labels"]) == len(payload["confusion"]["counts"]) == 100
    assert payload["confusion"]["labels"][-1] == "31 other labels"
    assert sum(map(sum, payload["confusion"]["counts"])) == 130


def test_missing_things_are_said() -> None:
    page = render_report(Report("bare", examples=[Example("a", "b", None, 0.5)]))
    assert "This model has no attention to show." in page
    assert "No mistakes to show" in page


def test_edits_rebuild_both_texts() -> None:
    for prediction, reference in [("2009-03-14", "2009-02-14"), ("", "ab"), ("abc", ""), ("हिन्दी", "हिंदी")]:
        edits = compare_texts(prediction, reference)
        assert "".join(edit[1] for edit in edits) == prediction
        assert "".join(edit[2] for edit in edits) == reference


def test_no_text_becomes_markup() -> None:
    example = Example(ATTACK, ATTACK, "other", 0.0)
    report = Report(ATTACK, {ATTACK: ATTACK}, [ScoreRow(ATTACK, 1.0, ATTACK, ATTACK)], [], [example], [example])
    page = render_report(report)
    assert "<img" not in page
    assert page.count("</script>") == 3
    assert read_report(report)["title"] == ATTACK


def test_large_traces_keep_the_mean_and_say_so(make_trace: Callable[..., AttentionTrace]) -> None:
    trace = make_trace(["s"] * 60, ["t"] * 50, heads=8)
    packed = read_report(Report("large", examples=[Example("s", "t", None, 0.0, trace)]))["examples"][0]["trace"]
    assert packed["maps"][0]["averaged_heads"] == 8
    kept = np.array(packed["maps"][0]["weights"], dtype=np.float32)
    np.testing.assert_array_equal(kept[0], trace.weights)
    assert len(packed["source_tokens"]) == 60
