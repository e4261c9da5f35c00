"""Doubly stochastic attention regularisation: its equation, its weight in a loss, and models without attention."""

from pathlib import Path
from typing import Any

import pytest
import torch
from losses import make, weigh
from reversal import configure, start, write_reversals
from torch import nn

from seq2see.core.errors import ConfigError
from seq2see.core.trace import Trace
from seq2see.data.batch import collate
from seq2see.objectives.attention_coverage import AttentionCoverage, coverage_penalty
from seq2see.objectives.likelihood import Likelihood
from seq2see.training.batch_order import order_batches


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def test_the_penalty_by_hand() -> None:
    """Two sources of three and two positions, two and one tokens; what is masked holds nonsense."""
    model = nn.Module()
    model.attend = nn.Identity()
    trace = Trace(model)
    first = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.8, 9.0]]).view(2, 1, 1, 3)
    second = torch.tensor([[0.1, 0.6, 0.3], [9.0, 9.0, 9.0]]).view(2, 1, 1, 3)
    for step in (first, second):
        trace.record(model.attend, step)
    sources = torch.tensor([[True, True, True], [True, True, False]])
    targets = torch.tensor([[True, True], [True, False]])
    expected = (0.4**2 + 0.1**2 + 0.7**2) + (0.8**2 + 0.2**2)
    assert coverage_penalty(trace, sources, targets).item() == pytest.approx(expected)


def test_the_penalty_is_part_of_the_loss_and_moves_the_attention(data: Path, tmp_path: Path) -> None:
    losses = []
    for penalty in (0.0, 2.0):
        job = start(configure(data, doubly_stochastic_attention=penalty), tmp_path / str(penalty))
        model = job.loop.model
        _, _, (store, rows) = next(order_batches(job.loop.store, job.loop.config, job.loop.state))
        loss = job.loop.learner.objective(model.eval(), collate(store, rows), 1)
        loss.total.backward()
        losses.append((loss.total.item(), loss.nll.item(), model.decoder.reader.attend.score.vector.grad))
    assert losses[1][0] > losses[0][0]
    assert losses[1][1] == losses[0][1]
    assert not torch.allclose(losses[0][2], losses[1][2])


def test_a_decoder_without_attention_is_refused(data: Path, tmp_path: Path) -> None:
    model: Any = {"decoder": {"reader": "none", "initial_state": "projected"}}
    with pytest.raises(ConfigError, match="needs a decoder that attends"):
        start(configure(data, model=model, doubly_stochastic_attention=1.0), tmp_path / "run")


@pytest.mark.parametrize("penalty", [0.5, 2.0])
def test_the_weight_is_that_of_the_penalty_in_the_loss(tmp_path: Path, penalty: float) -> None:
    """Xu et al. 2015, eq. 14, for equal weights: t tokens pay t / n to each of n positions."""
    _, model, batch = make(tmp_path)
    with torch.no_grad():
        model.decoder.reader.attend.score.vector.zero_()  # every position scores 0
    positions, tokens = (mask.sum(dim=1).double() for mask in (batch.source_mask, batch.target_mask))
    uneven = (positions * (1 - tokens / positions) ** 2).sum()
    loss = Likelihood(terms=[AttentionCoverage(weight=penalty)])(model, batch, 1)
    assert uneven > 0.01
    assert loss.total.item() == pytest.approx((loss.nll + penalty * uneven).item(), rel=1e-5)
    torch.testing.assert_close(loss.nll, weigh(model, batch).detach(), rtol=1e-5, atol=1e-4)
