"""Likelihood: its cross-entropy with label smoothing, its inputs and its terms; and what hard attention adds to it."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from jaxtyping import Float
from losses import make, weigh
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.data.batch import Batch
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.forward_pass import ForwardPass, LossTerm
from seq2see.objectives.hard_attention import HardAttention
from seq2see.objectives.likelihood import Likelihood


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_cross_entropy_with_label_smoothing_in_numpy(tmp_path: Path, smoothing: float) -> None:
    """Szegedy et al. 2016, section 7: 1 - e for the target, and e spread over all v words; padding counts nowhere."""
    _, model, batch = make(tmp_path)
    logits = model(batch.source, batch.source_mask, batch.inputs).detach().numpy().astype(np.float64)
    logprobs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    mask, targets, words = batch.target_mask.numpy(), batch.targets.numpy(), logits.shape[2]
    total = nll = 0.0
    for row, column in zip(*mask.nonzero(), strict=True):
        target = logprobs[row, column, targets[row, column]]
        nll -= target
        total -= (1 - smoothing) * target + smoothing / words * logprobs[row, column].sum()
    loss = Likelihood(smoothing=smoothing)(model, batch, 1)
    assert loss.total.item() == pytest.approx(total, rel=1e-5)
    assert loss.nll.item() == pytest.approx(nll, rel=1e-5)
    assert loss.tokens == mask.sum() < mask.size


class Times(LossTerm):
    """A term that multiplies, so that the order of terms can be seen, and knows the update it was asked at."""

    def __init__(self, factor: float, plus: float) -> None:
        self.factor, self.plus, self.steps = factor, plus, []

    def needs_references(self, step: int) -> bool:
        return step > 3 and self.plus > 0

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        self.steps.append(step)
        return self.factor * total + self.plus


def test_terms_are_added_one_after_the_other_and_know_the_update(tmp_path: Path) -> None:
    _, model, batch = make(tmp_path)
    terms = [Times(1.0, 2.0), Times(3.0, 0.0)]
    objective = Likelihood(terms=terms)
    loss = objective(model, batch, 7)
    assert loss.total.item() == pytest.approx(3 * (loss.nll.item() + 2), rel=1e-6)
    assert [term.steps for term in terms] == [[7], [7]]
    assert [objective.needs_references(step) for step in (3, 4)] == [False, True]
    assert not Likelihood(terms=terms[1:]).needs_references(4)


def test_attention_is_recorded_only_if_a_term_reads_it(tmp_path: Path) -> None:
    _, model, batch = make(tmp_path)
    seen = []

    class Reads(Times):
        reads_attention: ClassVar[bool] = True

        def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
            seen.append(forward.trace)
            return total

    class Ignores(Reads):
        reads_attention: ClassVar[bool] = False

    for kind in (Reads, Ignores):
        Likelihood(terms=[kind(1.0, 0.0)])(model, batch, 1)
    assert seen[0].source_names == ("decoder.reader.attend",)
    assert seen[1] is None


def test_the_decoder_reads_what_the_input_policy_says(tmp_path: Path) -> None:
    _, model, batch = make(tmp_path)

    def rotate(model: Seq2Seq, memory: Memory, batch: Batch, step: int) -> Tensor:
        return batch.inputs.roll(step, dims=0)

    loss = Likelihood(inputs=rotate)(model, batch, 2)
    turned: Any = Batch(batch.source, batch.source_mask, batch.inputs.roll(2, dims=0), batch.targets, batch.target_mask)
    torch.testing.assert_close(loss.total, weigh(model, turned), rtol=1e-5, atol=1e-4)
    assert loss.total.item() != pytest.approx(weigh(model, batch).item(), rel=1e-4)


def test_sampled_positions_are_rewarded_with_the_likelihood_of_their_tokens(tmp_path: Path) -> None:
    """The baseline is the average of log p(token); the value of the loss is that of the likelihood alone."""
    hard = {"kind": "hard", "soft_share": 0.0, "entropy": 0.0}
    _, model, batch = make(tmp_path, normalise=hard)
    torch.manual_seed(1)
    loss = Likelihood(terms=[HardAttention()])(model.train(), batch, 1)
    state = model.state_dict()
    (total,) = [tensor for name, tensor in state.items() if name.endswith("normalise.total")]
    (weight,) = [tensor for name, tensor in state.items() if name.endswith("normalise.weight")]
    assert (total / weight).item() == pytest.approx(-loss.nll.item() / loss.tokens, rel=1e-5)
    assert loss.total.item() == pytest.approx(loss.nll.item(), rel=1e-6)
    (gradient,) = torch.autograd.grad(loss.total, [model.decoder.reader.attend.score.vector])
    assert gradient.any()  # which nothing but REINFORCE could give it
