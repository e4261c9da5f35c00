"""The replay of given outputs is what the decoder computes step by step, traced or not, alone or together."""

import numpy as np
import pytest
import torch
from torch import Tensor

from seq2see.config.load import load_config
from seq2see.core.errors import AttentionError
from seq2see.core.special_tokens import START
from seq2see.data.pairs import Pairs
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.replay import replay
from seq2see.tasks.transduction import Transduction

TEXTS = ["abc", "ba", "cab ab"]
OUTPUTS = [(5, 4, 6, 1), (4, 1), (6, 6, 5, 1)]


def build(preset: str = "bahdanau2015") -> tuple[Transduction, Seq2Seq]:
    small = {"encoder": {"size": 6, "embedding_size": 4}, "decoder": {"size": 6, "embedding_size": 4}}
    config = load_config(base={"preset": preset, "model": small, "data": {"train": "x"}}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    return task, task.build(config)


@torch.inference_mode()
def walk(model: Seq2Seq, source: tuple[Tensor, Tensor], ids: tuple[int, ...]) -> Tensor:
    """The log-probabilities of all tokens at each step of one output."""
    fixed, state = model.decoder.begin(model.encoder(*source))
    rows = []
    for token in (START, *ids[:-1]):
        logits, state = model.decoder.step(torch.tensor([token]), state, fixed)
        rows.append(logits.log_softmax(dim=-1)[0])
    return torch.stack(rows)


def test_a_replay_is_the_chain_of_steps() -> None:
    task, model = build()
    model.train()  # a replay evaluates, whatever was done before
    sources = task.source.prepare(TEXTS)
    logits = replay(model, sources.gather([0, 1, 2]), OUTPUTS).logits()
    assert not model.training
    for row, ids in enumerate(OUTPUTS):
        expected = walk(model, sources.gather([row]), ids)
        found = logits[row, : len(ids)].log_softmax(dim=-1)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


def test_the_log_probability_is_the_sum_over_tokens() -> None:
    task, model = build()
    model.eval()
    sources = task.source.prepare(TEXTS)
    found = replay(model, sources.gather([0, 2]), [OUTPUTS[0], OUTPUTS[2]]).log_probability()
    for place, row in enumerate((0, 2)):
        steps = walk(model, sources.gather([row]), OUTPUTS[row])
        expected = sum(steps[step, token].item() for step, token in enumerate(OUTPUTS[row]))
        assert found[place].item() == pytest.approx(expected, abs=1e-5)


def test_attention_is_recorded_only_if_it_is_asked_for() -> None:
    task, model = build()
    sources = task.source.prepare(TEXTS).gather([0, 1])
    plain, traced = (replay(model, sources, OUTPUTS[:2], traced=way) for way in (False, True))
    assert plain.trace is None
    assert traced.trace is not None
    assert traced.trace.weights("decoder.reader.attend").shape == (2, 1, 4, 4)
    np.testing.assert_allclose(plain.logits().numpy(), traced.logits().numpy(), atol=1e-6)
    task, blind = build("sutskever2014")
    assert replay(blind, sources, OUTPUTS[:2]).trace is None
    with pytest.raises(AttentionError, match="no attention"):
        replay(blind, sources, OUTPUTS[:2], traced=True)
