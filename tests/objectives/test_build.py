"""The objective of a configuration: its parts, the same in every process, and combinations that are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import configure_planted
from reversal import configure, start, write_reversals

from seq2see.core.errors import ConfigError
from seq2see.data.batch import collate
from seq2see.data.pairs import Pairs
from seq2see.objectives.attention_coverage import AttentionCoverage
from seq2see.objectives.build import build_objective, build_sequence_objective
from seq2see.objectives.distillation import Distillation
from seq2see.objectives.hard_attention import HardAttention
from seq2see.objectives.likelihood import Likelihood, teacher_forcing
from seq2see.objectives.minimum_risk import MinimumRisk, best_gleu
from seq2see.objectives.scheduled_sampling import ScheduledSampling
from seq2see.tasks.classification import Classification
from seq2see.training.follow import open_job

HARD = {"kind": "before", "score": "additive", "normalise": {"kind": "hard", "soft_share": 0.5}}
EVERYTHING = {
    "updates": 4,
    "label_smoothing": 0.1,
    "scheduled_sampling": 0.5,
    "doubly_stochastic_attention": 0.7,
    "minimum_risk": {"reward": "cider", "weight": 0.4, "start": 0.25},
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def test_a_plain_configuration_is_the_likelihood() -> None:
    objective = build_sequence_objective(configure(Path("none")).train)
    assert isinstance(objective, Likelihood)
    assert (objective.smoothing, objective.inputs) == (0.0, teacher_forcing)
    assert [type(term) for term in objective.terms] == [HardAttention]


def test_every_key_is_a_part_of_the_objective() -> None:
    train = configure(Path("none"), **EVERYTHING, distillation={"teachers": ["a"], "weight": 0.2}).train
    objective = build_sequence_objective(train, teachers=[], reward=best_gleu)
    assert isinstance(objective, Likelihood)
    assert objective.smoothing == 0.1
    assert isinstance(objective.inputs, ScheduledSampling)
    assert (objective.inputs.share, objective.inputs.updates) == (0.5, 4)
    distillation, coverage, risk, hard = objective.terms
    assert isinstance(distillation, Distillation)
    assert distillation.weight == 0.2
    assert isinstance(coverage, AttentionCoverage)
    assert coverage.weight == 0.7
    assert isinstance(risk, MinimumRisk)
    assert (risk.weight, risk.start, risk.updates) == (0.4, 0.25, 4)
    assert isinstance(hard, HardAttention)
    assert [objective.needs_references(step) for step in range(4)] == [False, False, True, True]


def test_a_worker_builds_the_objective_of_the_main_process(data: Path, tmp_path: Path) -> None:
    """To the bit, whatever is asked for, CIDEr's counts of the training data and two teachers included."""
    teachers = [str(tmp_path / name) for name in ("first", "second")]
    for number, teacher in enumerate(teachers):
        list(start(configure(data, updates=2 + 2 * number, validate_every=2), Path(teacher)).loop.run())
    options: dict[str, Any] = {**EVERYTHING, "distillation": {"teachers": teachers}}
    model = {half: {"size": 16, "embedding_size": 8} for half in ("encoder", "decoder")}
    loop = start(
        configure(data, model={**model, "decoder": {**model["decoder"], "reader": HARD}}, **options),
        data.parent / "run",
    ).loop
    worker = open_job(loop.folder.path).loop.learner
    worker.restore(loop.learner.dump())
    assert worker.task.longest_target == loop.task.longest_target > 1
    for update in (1, 2):
        batch = collate(loop.store, np.arange(8), referring=worker.objective.needs_references(update))
        mine, theirs = (each.accumulate_gradients(update, [batch]) for each in (loop.learner, worker))
        assert mine == theirs
    for left, right in zip(loop.model.parameters(), worker.model.parameters(), strict=True):
        assert left.grad is not None
        assert right.grad is not None
        assert torch.equal(left.grad, right.grad)


def test_teachers_and_rewards_must_be_those_of_the_configuration(data: Path, tmp_path: Path) -> None:
    loop = start(configure(data), tmp_path / "run").loop
    with pytest.raises(ConfigError, match=r"the teachers that train.distillation names, 0; got 1; open the runs"):
        build_objective(loop.config, loop.task, teachers=[loop.model])
    with pytest.raises(ConfigError, match=r"a reward if there is train.minimum_risk, and only then; got one"):
        build_objective(loop.config, loop.task, reward=best_gleu)
    with pytest.raises(ConfigError, match=r"the teachers that train.distillation names, 1; got 0"):
        build_objective(configure(data, distillation={"teachers": ["a"]}), loop.task)
    with pytest.raises(ConfigError, match=r"only then; got none; build it with build_reward"):
        build_objective(configure(data, minimum_risk={}), loop.task)


def test_a_classifier_has_no_teachers_and_no_rewards(tmp_path: Path) -> None:
    config = configure_planted(tmp_path / "none")
    task = Classification.learn(config, Pairs(["a b", "b c"], ["good", "bad"]))
    with pytest.raises(ConfigError, match=r"a classifier must be trained without train.distillation and train.minimum"):
        task.objective(config.train, reward=best_gleu)
    for options in ({"minimum_risk": {}}, {"distillation": {"teachers": ["a"]}}):
        with pytest.raises(ConfigError, match=rf"cannot have train.{next(iter(options))}, because the task is class"):
            configure_planted(tmp_path / "none", **options)


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"minimum_risks": {}}, "minimum_risk"),
        ({"distilation": {}}, "distillation"),
        ({"clip_gradients": 1}, "clip_gradient"),
    ],
)
def test_a_mistyped_key_is_answered_with_the_right_one(options: dict[str, Any], near: str) -> None:
    with pytest.raises(ConfigError, match=rf"there is no key 'train.*'; did you mean '?{near}"):
        configure(Path("none"), **options)
