"""Scheduled sampling: what is replaced, by what, and that nothing else changes."""

import inspect
from pathlib import Path

import pytest
import torch

from seq2see.config.load import load_config
from seq2see.core.registry import find, names
from seq2see.data.batch import Batch, collate
from seq2see.data.pairs import Pairs
from seq2see.data.store import prepare
from seq2see.data.tokenise import START
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.guessing import NEVER, mix_guesses
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
def test_with_every_input_guessed_each_is_the_best_guess_after_the_true_inputs(tmp_path: Path, reader: str) -> None:
    _, model, batch = build(tmp_path, reader)
    model.eval()
    memory = model.encoder(batch.source, batch.source_mask)
    inputs = mix_guesses(model.decoder, memory, batch, share=1.0)
    logits = model.decoder(batch.inputs, memory)
    logits[..., NEVER] = -torch.inf
    real = batch.target_mask[:, 1:]
    assert torch.equal(inputs[:, 1:][real], logits.argmax(dim=-1)[:, :-1][real])
    assert (inputs[:, 0] == START).all()
    assert torch.equal(inputs[~batch.target_mask], batch.inputs[~batch.target_mask])


def test_a_share_is_replaced(tmp_path: Path) -> None:
    _, model, batch = build(tmp_path, times=60)
    with torch.no_grad():
        model.decoder.output.bias[7] += 100  # one guess for all places
    memory = model.encoder(batch.source, batch.source_mask)
    torch.manual_seed(1)
    places = batch.target_mask[:, 1:] & (batch.inputs[:, 1:] != 7)
    mixed = mix_guesses(model.decoder, memory, batch, share=0.3)[:, 1:]
    assert (mixed == 7)[places].float().mean().item() == pytest.approx(0.3, abs=0.05)
    assert ((mixed == batch.inputs[:, 1:]) | (mixed == 7)).all()


def test_without_guesses_the_loss_is_that_of_teacher_forcing_to_the_bit(tmp_path: Path) -> None:
    task, model, batch = build(tmp_path)
    losses, states = [], []
    for options in ({}, {"guessed": 0.0}):
        torch.manual_seed(1)
        losses.append(task.loss(model, batch, **options))
        states.append(torch.get_rng_state())
    logits = model.eval()(batch.source, batch.source_mask, batch.inputs)
    assert torch.equal(losses[0].total, losses[1].total)
    assert torch.equal(*states)
    expected = torch.nn.functional.cross_entropy(logits[batch.target_mask], batch.targets[batch.target_mask])
    torch.testing.assert_close(task.loss(model, batch).nll / batch.target_mask.sum(), expected)


def test_guesses_change_the_loss_and_carry_no_gradient_of_their_own(tmp_path: Path) -> None:
    task, model, batch = build(tmp_path)
    model.eval()
    forced, guessed = (task.loss(model, batch, guessed=share).total for share in (0.0, 1.0))
    assert forced.item() != guessed.item()
    memory = model.encoder(batch.source, batch.source_mask)
    inputs = mix_guesses(model.decoder, memory, batch, share=1.0)
    logits = model.decoder(inputs, memory)[batch.target_mask]
    again = torch.nn.functional.cross_entropy(logits, batch.targets[batch.target_mask], reduction="sum")
    torch.testing.assert_close(guessed, again)
    parameters = list(model.parameters())
    for mine, theirs in zip(
        torch.autograd.grad(guessed, parameters), torch.autograd.grad(again, parameters), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
