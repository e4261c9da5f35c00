"""Scheduled sampling: what is replaced, by what, and that nothing else changes."""

import inspect
from pathlib import Path

import pytest
import torch

from seq2see.config.load import load_config
from seq2see.core.registry import find, names
from seq2see.core.special_tokens import START
from seq2see.data.batch import Batch, collate
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import prepare
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.likelihood import Likelihood
from seq2see.objectives.scheduled_sampling import NEVER_READ, ScheduledSampling, replace_inputs
from seq2see.tasks.transduction import Transduction

TEXTS = ["abc dab", "bad", "a cab had a bad day", "c"]


def build(tmp_path: Path, reader: str = "before", *, times: int = 1) -> tuple[Transduction, Seq2Seq, Batch]:
    """A small model, and a batch that holds each text so many times."""
    half = {"size": 6, "embedding_size": 4}
    scores = "score" in inspect.signature(find("reader", reader)).parameters
    spec = {"kind": reader, **({"score": "additive"} if scores else {})}
    model = {"encoder": half, "decoder": {**half, "reader": spec}}
    config = load_config(base={"preset": "bahdanau2015", "data": {"train": "x"}, "model": model}).config
    pairs = Pairs(TEXTS, TEXTS)
    task = Transduction.learn(config, pairs)
    store = prepare(pairs, task.source, task.target, max_tokens=99, cache=tmp_path)
    return task, task.build(config), collate(store, torch.arange(4).repeat(times).numpy())


@pytest.mark.parametrize("reader", names("reader"))
def test_with_probability_1_every_input_is_the_prediction_after_the_true_inputs(tmp_path: Path, reader: str) -> None:
    _, model, batch = build(tmp_path, reader)
    model.eval()
    memory = model.encoder(batch.source, batch.source_mask)
    inputs = replace_inputs(model.decoder, memory, batch, probability=1.0)
    logits = model.decoder(batch.inputs, memory)
    logits[..., NEVER_READ] = -torch.inf
    real = batch.target_mask[:, 1:]
    assert torch.equal(inputs[:, 1:][real], logits.argmax(dim=-1)[:, :-1][real])
    assert (inputs[:, 0] == START).all()
    assert torch.equal(inputs[~batch.target_mask], batch.inputs[~batch.target_mask])


def test_inputs_are_replaced_with_their_probability(tmp_path: Path) -> None:
    _, model, batch = build(tmp_path, times=60)
    with torch.no_grad():
        model.decoder.output.bias[7] += 100  # one prediction for all positions
    memory = model.encoder(batch.source, batch.source_mask)
    torch.manual_seed(1)
    places = batch.target_mask[:, 1:] & (batch.inputs[:, 1:] != 7)
    mixed = replace_inputs(model.decoder, memory, batch, probability=0.3)[:, 1:]
    assert (mixed == 7)[places].float().mean().item() == pytest.approx(0.3, abs=0.05)
    assert ((mixed == batch.inputs[:, 1:]) | (mixed == 7)).all()


def test_the_probability_rises_linearly_to_its_share_at_the_last_update() -> None:
    policy = ScheduledSampling(share=0.8, updates=4)
    assert [policy.probability(step) for step in range(5)] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])


def test_the_policy_replaces_with_the_probability_of_its_update(tmp_path: Path) -> None:
    _, model, batch = build(tmp_path, times=60)
    with torch.no_grad():
        model.decoder.output.bias[7] += 100  # one prediction for all positions
    memory = model.encoder(batch.source, batch.source_mask)
    policy = ScheduledSampling(share=0.8, updates=4)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    assert policy(model, memory, batch, 0) is batch.inputs
    assert torch.equal(before, torch.get_rng_state())  # without it all random numbers are those of teacher forcing
    places = batch.target_mask[:, 1:] & (batch.inputs[:, 1:] != 7)
    shares = [(policy(model, memory, batch, step)[:, 1:] == 7)[places].float().mean().item() for step in (1, 4)]
    assert shares == pytest.approx([0.2, 0.8], abs=0.05)


def test_predictions_change_the_loss_and_carry_no_gradient_of_their_own(tmp_path: Path) -> None:
    _, model, batch = build(tmp_path)
    model.eval()
    objective = Likelihood(inputs=ScheduledSampling(share=1.0, updates=1))
    forced, sampled = (objective(model, batch, step).total for step in (0, 1))
    assert forced.item() != sampled.item()
    memory = model.encoder(batch.source, batch.source_mask)
    inputs = replace_inputs(model.decoder, memory, batch, probability=1.0)
    logits = model.decoder(inputs, memory)[batch.target_mask]
    again = torch.nn.functional.cross_entropy(logits, batch.targets[batch.target_mask], reduction="sum")
    torch.testing.assert_close(sampled, again)
    parameters = list(model.parameters())
    for mine, theirs in zip(
        torch.autograd.grad(sampled, parameters), torch.autograd.grad(again, parameters), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
