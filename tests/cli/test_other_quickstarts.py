"""The quickstart with images of shapes, and with an exercise for a memory."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import seq2see
from seq2see.cli import quickstart as command
from seq2see.cli.app import app
from seq2see.core.box import NamedBox
from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.data.pairs import Origin, Pairs
from seq2see.data.synthetic.shapes import read_things
from seq2see.render.comparison_table import make_sheet
from seq2see.render.html.comparison_page import render_comparison
from seq2see.runs.comparison import compare
from seq2see.runs.evaluation import play_pointing
from seq2see.runs.prediction import Prediction
from seq2see.runs.word_alignment import force_pairs

TINY = ["train.updates=2", "train.validate_every=2", "train.validation_pairs=4", "model.encoder.rows=12"]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["quickstart", *map(str, words)])


@pytest.mark.slow
def test_an_exercise_goes_from_nothing_to_wrong_symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXERCISE_SIZES", {"train": 60, "valid": 8, "test": 8, "longer": 4})
    result = run("--task", "copy", "--lengths", "2..4", "--out", tmp_path / "run", *TINY)
    assert result.exit_code == 0, result.output
    assert "wrong symbols at twice the greatest of them" in " ".join(result.output.split())
    assert (tmp_path / "run" / "report.html").is_file()
    longer = (tmp_path / "exercises" / "copy" / "longer.tsv").read_text().splitlines()
    assert {len(line.split("\t")[1].split()) for line in longer} == {8}


@pytest.mark.slow
def test_shapes_are_captioned_and_attention_plays_the_pointing_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SCENES", {"train": 24, "valid": 4, "test": 4})
    small = [
        "tokens.source.size=32",
        "train.batch_tokens=64",
        "model.encoder.size=8",
        "model.decoder.size=8",
        "search=greedy",
    ]
    result = run("--task", "shapes", "--out", tmp_path / "run", *small, *TINY[:3])
    assert result.exit_code == 0, result.output
    captioner, things = seq2see.load(tmp_path / "run"), read_things(tmp_path / "shapes" / "test.jsonl")
    predictions = [name_all(captioner, source, found) for source, found in things.items()]
    metrics = {metric.name: metric for metric in play_pointing(captioner, predictions, things)}
    assert 0 < metrics["pointing_chance"].value < 100
    assert "n:16|grid:8x8" in metrics["pointing"].signature, "two words for each of two things in four images"
    pairs = Pairs(list(things), ["a thing"] * len(things))
    with pytest.raises(Seq2SeeError, match=r"aligned between two texts, but .* reads images"):
        force_pairs(captioner, pairs)
    with pytest.raises(Seq2SeeError, match="--gold aligns words with words"):
        compare({"one": captioner, "two": captioner}, pairs, Origin(tmp_path), gold=tmp_path)
    other = shutil.copytree(tmp_path / "run", tmp_path / "other")
    words = ["compare", tmp_path / "run", other, "--data", tmp_path / "shapes" / "test.jsonl", "--plot", "lengths.png"]
    refused = CliRunner().invoke(app, [*map(str, words)])
    assert "these runs read images; leave it out" in str(refused.exception)
    several = Pairs(list(things) * 2, ["a thing"] * len(things) + ["red left of blue"] * len(things))
    found = compare({"one": captioner, "two": captioner}, several, Origin(tmp_path), workers=1)
    sheet = make_sheet(found, examples=1)
    assert sheet.title == "one and two on 4 images"
    assert [row.name for row in sheet.rows[:6]] == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    assert [tested.p_value for tested in found.runs[1].tested] == [1] * 6
    assert sheet.examples[0][1].further_references == ["red left of blue"]
    assert '"lengths":null' in render_comparison(sheet).replace(" ", "")


def name_all(captioner: seq2see.Run, source: str, things: list[NamedBox]) -> Prediction:
    """A prediction that names everything in an image."""
    caption = " and ".join(" ".join(thing.words) for thing in things)
    encoded = captioner.task.target.encode(caption)
    return Prediction(caption, 0.0, encoded.tokens, encoded.ids, source, run=captioner)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lengths", "2..4"], "dates have no lengths"),
        (["--task", "copy", "--lengths", "5"], r"must be two numbers such as 1\.\.20; got 5"),
    ],
    ids=str,
)
def test_lengths_that_mean_nothing_are_named(words: list[str], sentence: str) -> None:
    error = run(*words).exception
    assert isinstance(error, ConfigError)
    with pytest.raises(ConfigError, match=sentence):
        raise error
