"""Fine-tuning: what is decided where the user says nothing, and that the weights of the run are never lost."""

from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import SMALL

import seq2see
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder

PAIRS = [(f"ab{number}", f"{number}ba") for number in range(60)]
TRAIN: dict[str, Any] = {"updates": 20, "batch_tokens": 64, "validate_every": 10, "validation_pairs": 8}
COSINE = {**TRAIN, "learning_rate": 0.02, "schedule": {"kind": "cosine", "warmup": 3}}


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(RunFolder(path).weights_file).tensors)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a cosine schedule."""
    training = seq2see.fit(
        PAIRS, preset="bahdanau2015", model=SMALL, out=tmp_path_factory.mktemp("runs") / "start", train=COSINE
    )
    list(training)
    return training.folder


def test_small_steps_and_frequent_validations_are_decided(run: Path, tmp_path: Path) -> None:
    training = seq2see.fit(PAIRS[:20], init=run, out=tmp_path / "tuned", train={"updates": 30})
    train = training.job.loop.config.train
    assert train.learning_rate == pytest.approx(0.002)
    assert train.schedule == {"kind": "constant", "warmup": 3}
    assert (train.updates, train.validate_every, train.batch_tokens) == (30, 6, 64)
    assert training.job.remarks["train"] == (
        "learning rate 0.002, a tenth of the run's, constant after 3 updates, a validation every 6 updates"
    )
    training.close()
    again = seq2see.fit(PAIRS[:20], init=run, out=tmp_path / "tuned", train={"updates": 30})
    assert again.job.loop.config.train == train
    again.close()


def test_what_the_user_says_is_not_decided(run: Path, tmp_path: Path) -> None:
    said = {"learning_rate": 0.5, "schedule": "constant", "validate_every": 20}
    training = seq2see.fit(PAIRS[:20], init=run, out=tmp_path / "tuned", train=said)
    train = training.job.loop.config.train
    assert (train.learning_rate, train.schedule, train.validate_every) == (0.5, "constant", 20)
    assert "train" not in training.job.remarks
    training.close()


def test_a_tenth_of_a_relative_schedule_is_of_the_rate_that_was_reached(tmp_path: Path) -> None:
    train = {**TRAIN, "learning_rate": 2.0, "schedule": {"kind": "noam", "warmup": 10}}
    start = seq2see.fit(PAIRS, preset="bahdanau2015", model=SMALL, out=tmp_path / "start", train=train)
    list(start)
    reached = 2.0 * start.job.loop.schedule.peak  # at update 10, which is validated
    training = seq2see.fit(PAIRS[:20], init=start.folder, out=tmp_path / "tuned")
    assert training.job.loop.config.train.learning_rate == pytest.approx(reached / 10, rel=0.01)
    training.close()


def test_the_weights_of_the_run_stay_if_no_others_are_better(run: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"init": run, "out": tmp_path / "tuned", "valid": [("ab5", "5ba"), ("ab7", "7ba")]}
    options["train"] = {"updates": 3, "validate_every": 1, "learning_rate": 10.0, "schedule": "constant"}
    for event in seq2see.fit([("ab1", "zz"), ("ab2", "zz"), ("ab3", "zz")], **options):
        if isinstance(event, seq2see.Stepped):
            break
    training = seq2see.fit([("ab1", "zz"), ("ab2", "zz"), ("ab3", "zz")], **options)
    list(training)
    left, right = weights(training.folder), weights(run)
    assert all(torch.equal(left[name], right[name]) for name in right)
    rows = RunFolder(training.folder).read_metrics()
    assert [row["update"] for row in rows] == [0, 1, 2, 3]
    assert "loss" not in rows[0]
    assert rows[0]["valid_loss"] < min(row["valid_loss"] for row in rows[1:])
