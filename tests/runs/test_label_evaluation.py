"""The evaluation of a run that chooses labels: every label, and what it is taken for."""

from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from seq2see.config.load import load_config
from seq2see.core.errors import DataError
from seq2see.data.modalities.label_set import Labels
from seq2see.data.modalities.text import TextModality
from seq2see.data.pairs import Pairs
from seq2see.data.trainable_tokenizers import Characters
from seq2see.runs import analysis
from seq2see.runs.evaluation import Evaluation, evaluate, score_run_classes
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.tasks.classification import Classification


def make_evaluation(chosen: list[str], right: list[str], *, separator: str | None = None) -> Evaluation:
    learned = Labels(separator=separator).learn([*right, "unseen", "other"])
    run: Any = Mock(Run, task=Classification(Mock(), learned), others=(Mock(),))
    predictions = [Prediction(text, 0.5, (), (), "x", run=run) for text in chosen]
    return evaluate(run, Pairs(["x"] * len(right), right), name="test", predictions=predictions)


def test_labels_are_scored_one_by_one() -> None:
    found = make_evaluation(["a", "b", "b"], ["a ", "a", "b"]).to_dict()
    assert (found["pairs"], list(found["metrics"])) == (3, ["accuracy", "macro_f1", "ece"])
    assert [each["label"] for each in found["classes"]] == ["a", "b"]  # "unseen" occurs nowhere in this data
    assert found["means"]["macro_mean"]["f1"] == pytest.approx(found["metrics"]["macro_f1"]["value"])
    assert found["confusion"] == {"labels": ["a", "b"], "counts": [[1, 1], [0, 1]]}


def test_several_labels_of_a_source_have_no_confusion_matrix() -> None:
    found = make_evaluation(["b|a", "a"], ["a | b", "b"], separator="|").to_dict()
    assert found["means"]["micro_mean"]["f1"] == pytest.approx(found["metrics"]["micro_f1"]["value"])
    assert [(each["label"], each["precision"], each["recall"]) for each in found["classes"]] == [
        ("a", 50, 100),
        ("b", 100, 50),
    ]
    assert found["confusion"] is None


def test_texts_have_no_labels() -> None:
    run: Any = Mock(Run, task=Mock(target=Mock(label_set=None)))
    assert score_run_classes(run, [], Pairs([], [])) is None
    assert Evaluation("test", ["a"], [], []).to_dict() == {"pairs": 1, "metrics": {}}


def make_labelled_run(path: str, *labels: str) -> Run:
    target = Labels().learn(labels)
    run: Any = Mock(
        Run,
        task=Classification(TextModality(Characters().learn(["a"])), target),
        others=(),
        folder=Mock(path=Path(path)),
    )
    run.config = load_config(base={"preset": "bigru-attention", "data": {"train": ""}}).config
    return cast(Run, run)


def test_python_refuses_data_with_none_of_the_labels_as_the_command_does() -> None:
    data = [("a", "3"), ("b", "4")]
    first, second = make_labelled_run("first", "3", "4"), make_labelled_run("second", "neg", "pos")
    with pytest.raises(DataError, match="this run knows none of the labels of the data, such as '3', '4'; check files"):
        analysis.evaluate(second, data)
    with pytest.raises(DataError, match="second knows none of the labels of the data"):
        analysis.compare([first, second], data)
