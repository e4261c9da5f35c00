"""Replaying many outputs at once shows what replaying each alone shows, for every preset."""

import numpy as np
import pytest
import torch

from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.core.errors import AttentionError
from seq2see.core.special_tokens import START
from seq2see.core.trace import tracing
from seq2see.data.pairs import Pairs
from seq2see.explain import cross_attention as module
from seq2see.explain.cross_attention import trace_cross_attention
from seq2see.explain.forced_output import ForcedOutput
from seq2see.explain.text_attention import explain_text
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.transduction import Transduction

TEXTS = ["abc dab", "bad", "a cab had a bad day", "c"]
WITHOUT = {"sutskever2014", "cho2014", "ntm2014"}  # that look at no source token while they write


def build(preset: str) -> tuple[Transduction, Seq2Seq]:
    """A small random model of a preset."""
    small = {"size": 16, "embedding_size": 8, "inner_size": 8, "layers": 2}
    written = read_preset(preset)[0]["model"]
    sizes = {half: {k: v for k, v in small.items() if k in written[half]} for half in ("encoder", "decoder")}
    if written["decoder"].get("initial_state") == "copy":  # whatever directions the encoder reads in
        sizes["decoder"]["initial_state"] = "projected"
    config = load_config(base={"preset": preset, "model": sizes, "data": {"train": "x"}}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    return task, task.build(config).eval()


@pytest.mark.parametrize("preset", sorted(set(preset_names(task="transduction", images=False)) - WITHOUT))
def test_many_at_once_are_each_alone(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_POSITIONS", 30)  # the longest alone, the others together
    task, model = build(preset)
    given = [ForcedOutput.from_target(task, text, text[::-1]) for text in TEXTS]
    traces = dict(trace_cross_attention(task, model, given))
    assert sorted(traces) == list(range(len(TEXTS)))
    for place, each in enumerate(given):
        alone = explain_text(task, model, each.source, each.ids)
        expected = {found.name: found.weights for found in alone.maps if found.is_cross_attention}
        assert [found.name for found in traces[place].maps] == list(expected)
        for found in traces[place].maps:
            np.testing.assert_allclose(found.weights, expected[found.name], atol=1e-5)
            assert (found.weights.sum(axis=-1) <= 1 + 1e-5).all()  # less under a window with soft edges
        assert traces[place].source_tokens == alone.source_tokens
        assert [token.text for token in traces[place].target_tokens] == [token.text for token in alone.target_tokens]


@pytest.mark.parametrize("preset", sorted(WITHOUT))
def test_a_model_without_attention_says_so(preset: str) -> None:
    task, model = build(preset)
    with pytest.raises(AttentionError, match="no attention"):
        list(trace_cross_attention(task, model, [ForcedOutput.from_target(task, "a", "b")]))


def test_nothing_is_replayed_to_nothing() -> None:
    assert list(trace_cross_attention(*build("bahdanau2015"), [])) == []


def test_unknown_words_of_a_given_target_keep_their_place() -> None:
    task, model = build("bahdanau2015")
    given = ForcedOutput.from_target(task, "bad", "a☃ b")
    assert [(token.text, token.start, token.end) for token in given.tokens[:3]] == [
        ("a", 0, 1),
        ("☃", 1, 2),
        (" ", 2, 3),
    ]
    ((_, trace),) = trace_cross_attention(task, model, [given])
    assert trace.maps[0].weights.shape == (1, 5, 4)


@pytest.mark.parametrize("preset", ["transformer-tiny", "lstmn2016", "convs2s2017", "luong2015"])
def test_a_look_back_is_no_look_at_the_source_taught_or_stepping(preset: str) -> None:
    task, model = build(preset)
    source, mask = task.source.prepare(["bad"]).gather([0])
    with torch.inference_mode():
        memory = model.encoder(source, mask)
        with tracing(model) as taught:
            model.decoder.features(torch.tensor([[START, 5, 6]]), memory)
        fixed, state = model.decoder.begin(memory)
        with tracing(model) as stepped:
            model.decoder.step(torch.tensor([START]), state, fixed)
    assert taught.source_names == stepped.source_names
    assert taught.source_names
    assert all(taught.weights(name).shape[3] == source.shape[1] for name in taught.source_names)
    assert not any("self_attention" in name for name in taught.source_names)
