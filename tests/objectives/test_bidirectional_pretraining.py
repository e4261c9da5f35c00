"""Bidirectional pre-training: which updates are turned round, what they minimise, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch
from losses import make
from reversal import configure

from seq2see.core.errors import ConfigError
from seq2see.data.batch import Batch, collate, turn
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.attention_coverage import AttentionCoverage
from seq2see.objectives.bidirectional_pretraining import BidirectionalPretraining
from seq2see.objectives.build import build_sequence_objective
from seq2see.objectives.hard_attention import HardAttention
from seq2see.objectives.likelihood import Likelihood
from seq2see.objectives.minimum_risk import MinimumRisk, best_gleu
from seq2see.objectives.objective import Loss

JOINT = {"joint": "characters"}


class Recorded:
    """An objective that remembers its batches, and wants references from update 3 on."""

    def __init__(self) -> None:
        self.batches: dict[int, Batch] = {}

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        self.batches[step] = batch
        return Loss(torch.zeros(()), torch.zeros(()), 1)

    def needs_references(self, step: int) -> bool:
        return step >= 3


def test_every_other_one_of_the_first_updates_is_turned_round(tmp_path: Path) -> None:
    loop, model, _ = make(tmp_path, tokens=JOINT)
    batch = collate(loop.store, np.arange(8))
    forward, backward = Recorded(), Recorded()
    objective = BidirectionalPretraining(forward=forward, backward=backward, share=0.5, updates=8)
    for step in range(9):
        objective(model, batch, step)
    assert list(forward.batches) == [0, 1, 3, 5, 6, 7, 8]
    assert all(each is batch for each in forward.batches.values())
    assert list(backward.batches) == [2, 4]
    assert all(torch.equal(each.targets, turn(batch).targets) for each in backward.batches.values())
    assert [objective.needs_references(step) for step in range(1, 7)] == [False, False, True, False, True, True]


def test_what_is_turned_round_has_no_rewards(tmp_path: Path) -> None:
    """Rewards are for outputs from source to target; the penalty on attention holds for both directions."""
    options = {"bidirectional_pretraining": 1.0, "doubly_stochastic_attention": 0.5, "scheduled_sampling": 0.3}
    train = configure(tmp_path / "none", updates=4, tokens=JOINT, minimum_risk={}, **options).train
    objective = build_sequence_objective(train, reward=best_gleu)
    assert isinstance(objective, BidirectionalPretraining)
    assert isinstance(objective.forward, Likelihood)
    assert isinstance(objective.backward, Likelihood)
    assert [type(term) for term in objective.forward.terms] == [AttentionCoverage, MinimumRisk, HardAttention]
    assert [type(term) for term in objective.backward.terms] == [AttentionCoverage, HardAttention]
    assert [objective.needs_references(step) for step in range(1, 5)] == [True, False, True, False]
    assert type(objective.forward.inputs) is type(objective.backward.inputs)


def test_it_needs_one_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"tokens.joint, because train.bidirectional_pretraining needs one vocabulary"
    ):
        configure(tmp_path / "none", bidirectional_pretraining=0.5)
