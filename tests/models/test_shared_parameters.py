"""Sharing: what is one stays one, and what cannot be one is told in a sentence."""

from typing import Any

import pytest
import torch

from seq2see.core.errors import ConfigError
from seq2see.core.registry import part
from seq2see.core.trace import tracing
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.models.shared_parameters import share_fitting, share_parameters, table_scales

LSTM = {"kind": "rnn", "cell": "lstm", "size": 6, "embedding_size": 6, "layers": 3}
PLAIN = {**LSTM, "reader": {"kind": "after", "score": "general", "input_feeding": False}, "initial_state": "zeros"}
SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8]])


def build(share: list[str], encoder: Any = None, decoder: Any = None) -> Seq2Seq:
    torch.manual_seed(1)
    model = build_seq2seq(
        encoder=part("encoder", encoder or {**LSTM, "directions": "forward"}),
        decoder=part("decoder", decoder or PLAIN),
        source_sizes={"vocabulary": 11},
        target_vocabulary=11,
    )
    share_parameters(model, share)
    return model


def shared_names(model: Seq2Seq) -> set[str]:
    """The names under which a parameter is known besides its first one."""
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return every - {name for name, _ in model.named_parameters()}


def count(model: Seq2Seq) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("share", "saved"),
    [
        (["embeddings"], 11 * 6),
        (["output"], 11 * 6),
        (["output", "embeddings"], 2 * 11 * 6),
        (["layers"], 3 * (2 * 24 * 6 + 2 * 24)),
        (["layers", "embeddings", "output"], 3 * (2 * 24 * 6 + 2 * 24) + 2 * 11 * 6),
    ],
    ids=str,
)
def test_what_is_shared_counts_once(share: list[str], saved: int) -> None:
    assert count(build(share)) == count(build([])) - saved


def test_what_fits_is_shared_and_the_rest_stays_its_own() -> None:
    names = {"encoder.embed.weight", "decoder.embed.weight", "decoder.output.weight"}
    for joint, narrow, expected in ((True, 6, 2), (False, 6, 1), (True, 4, 0)):
        model = build([], decoder={**PLAIN, "embedding_size": narrow})
        share_fitting(model, joint=joint)
        assert len(shared_names(model) & names) == expected
    language = build([], encoder={"kind": "none", "memory_size": 6})
    share_fitting(language, joint=True)
    assert shared_names(language) == {"decoder.output.weight"}


def test_a_step_of_training_leaves_one_tensor() -> None:
    model = build(["embeddings", "output", "layers"])
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    model(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool), TARGET).square().sum().backward()
    optimizer.step()
    assert model.decoder.output.weight is model.decoder.embed.weight is model.encoder.embed.weight
    for mine, theirs in zip(model.encoder.layers, model.decoder.cells, strict=True):
        for left, right in zip(mine[0].parameters(), theirs.parameters(), strict=True):
            assert left is right
            # torch's kernel reads its own list of the weights
            assert any(left is weight for weight in theirs.rnn._flat_weights)
    assert all(not torch.equal(before[name], parameter) for name, parameter in model.named_parameters())


@pytest.mark.parametrize("share", [["output"], ["output", "embeddings"]], ids=str)
def test_a_tied_table_reads_with_unit_variance_and_starts_with_small_logits(share: list[str]) -> None:
    sizes = {"size": 256, "embedding_size": 256, "layers": 1}
    model = build(share, {**LSTM, **sizes, "directions": "forward"}, {**PLAIN, **sizes})
    for table in (model.encoder.embed, model.decoder.embed):
        assert table(torch.arange(11)).std().item() == pytest.approx(1, abs=0.05)
    logits = model(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool), TARGET)
    assert logits.std().item() < 1.5
    names = {"decoder.embed.weight", *(["encoder.embed.weight"] if "embeddings" in share else [])}
    assert table_scales(model) == dict.fromkeys(names, 16.0)


def test_layers_are_shared_where_they_fit() -> None:
    """A reader that feeds makes the first layer wider; the layers above it still fit."""
    fed = {**PLAIN, "reader": {"kind": "after", "score": "general"}}
    assert {name.split(".")[2] for name in shared_names(build(["layers"], decoder=fed))} == {"1", "2"}


def test_a_transformer_shares_self_attention_and_feed_forward() -> None:
    sizes = {"kind": "transformer", "size": 6, "inner_size": 10, "heads": 2, "layers": 2}
    names = shared_names(build(["layers", "output", "embeddings"], sizes, {**sizes, "layers": 3}))
    shared = {".".join(name.split(".")[:4]) for name in names if name.startswith("decoder.layers")}
    assert shared == {
        f"decoder.layers.{layer}.{module}" for layer in (0, 1) for module in ("self_attention", "feed_forward")
    }
    assert {"decoder.embed.weight", "decoder.output.weight"} <= names


def test_convolutions_are_shared() -> None:
    sizes = {"kind": "conv", "embedding_size": 6, "size": 4, "layers": 2}
    names = shared_names(build(["layers", "output", "embeddings"], sizes, sizes))
    assert {".".join(name.split(".")[:4]) for name in names if "layers" in name} == {
        "decoder.layers.0.convolution",
        "decoder.layers.1.convolution",
    }


def test_of_both_directions_the_first_is_shared() -> None:
    model = build(["layers"], {**LSTM, "directions": "both", "layers": 1})
    names = shared_names(model)
    assert model.decoder.cells[0].rnn.weight_hh_l0 is model.encoder.layers[0][0].rnn.weight_hh_l0
    assert {name.rpartition(".")[0] for name in names} == {"decoder.cells.0.rnn"}


def test_a_trace_knows_the_halves_apart() -> None:
    model = build(["layers", "embeddings", "output"])
    with tracing(model) as trace:
        model(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool), TARGET)
    assert trace.names == ("decoder.reader.attend",)


def test_a_saved_model_is_loaded_with_its_sharing() -> None:
    model, other = build(["embeddings", "output", "layers"]), build(["embeddings", "output", "layers"])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_()
    other.load_state_dict(model.state_dict())
    assert shared_names(other) == shared_names(model)
    mask = torch.ones_like(SOURCE, dtype=torch.bool)
    torch.testing.assert_close(other(SOURCE, mask, TARGET), model(SOURCE, mask, TARGET))


GRU = {**LSTM, "cell": "gru"}


@pytest.mark.parametrize(
    ("share", "encoder", "decoder", "sentence"),
    [
        ("output", None, {**PLAIN, "embedding_size": 4}, "got 4 and 6; set model.decoder.embedding_size to 6"),
        ("embeddings", {**LSTM, "embedding_size": 4}, None, "got 11 x 4 for the encoder and 11 x 6 for the decoder"),
        ("embeddings", "none", None, "the encoder has no embeddings that can be shared"),
        ("layers", "none", None, "got none that can be shared"),
        ("layers", {**GRU, "layers": 1}, {**PLAIN, "layers": 1}, r"got Gru \(18 x 6, 18 x 6\) beside Lstm \(24 x 6"),
    ],
)
def test_what_cannot_be_shared_is_told(share: str, encoder: Any, decoder: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        build([share], encoder, decoder)
    assert caught.value.path == ("model", "share")
