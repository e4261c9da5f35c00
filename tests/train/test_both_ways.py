"""Both directions first: which updates are turned round, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import configure, start, write_reversals

from seq2see.core.errors import ConfigError
from seq2see.data.batch import collate, turn

JOINT = {"joint": "characters"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def test_every_other_one_of_the_first_updates_is_turned_round(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, updates=8, both_ways=0.5, tokens=JOINT), tmp_path / "run")
    batch, loss, seen = collate(job.fit.store, np.arange(8)), job.fit.task.loss, []

    class Watched:
        def loss(self, model: Any, given: Any, **options: Any) -> Any:
            seen.append(given)
            return loss(model, given, **options)

    job.fit.learner.task = Watched()
    for update in range(1, 9):
        job.fit.learner.learn(update, [batch])
    assert [torch.equal(one.targets, turn(batch).targets) for one in seen] == [False, True, False, True, *[False] * 4]
    assert all(one is batch for one in (*seen[::2], *seen[4:]))


def test_what_is_turned_round_is_not_rewarded(data: Path, tmp_path: Path) -> None:
    reward = {"measure": "gleu", "share": 0.9}
    job = start(configure(data, updates=4, both_ways=1.0, tokens=JOINT, reward=reward), tmp_path / "run")
    loss, seen = job.fit.task.loss, []

    class Watched:
        def loss(self, model: Any, given: Any, *, rewarded: float, **options: Any) -> Any:
            seen.append(rewarded)
            return loss(model, given, **options)

    job.fit.learner.task = Watched()
    for update in range(1, 5):
        job.fit.learner.learn(update, [collate(job.fit.store, np.arange(8))])
    assert seen == [0.9, 0.0, 0.9, 0.0]


def test_it_needs_one_vocabulary(data: Path) -> None:
    with pytest.raises(ConfigError, match=r"tokens.joint, because train.both_ways needs one vocabulary"):
        configure(data, both_ways=0.5)
