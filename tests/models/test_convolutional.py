"""The convolutional models: laws for widths, positions, scores and readers, and how its weights begin."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.registry import names, part
from seq2see.core.trace import tracing
from seq2see.models.encoders.conv_encoder import ConvEncoder
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.nn.convolution import NormedLinear
from seq2see.testing import check_decoder, check_encoder, tiny_decoder, tiny_encoder


@pytest.mark.parametrize(("width", "position"), [(1, "learned"), (2, "sinusoidal"), (5, "learned")])
def test_conv_obeys_the_laws_with_other_widths_and_positions(width: int, position: str) -> None:
    spec = {"kind": "conv", "width": width, "position": position}
    check_encoder(spec)
    check_decoder(spec, spec)


@pytest.mark.parametrize(("reader", "start"), [("summary", "mean"), ("after", "projected")])
def test_recurrent_decoders_read_a_convolutional_memory(reader: str, start: str) -> None:
    spec: Any = reader if reader == "summary" else {"kind": reader, "score": "general"}
    check_decoder({"kind": "rnn", "cell": "gru", "reader": spec, "initial_state": start}, "conv")


def build(*, decoder: dict[str, Any]) -> Seq2Seq:
    """Encoder and decoder with three channels in their embeddings and four inside."""
    torch.manual_seed(1)
    half = {"kind": "conv", "size": 4, "embedding_size": 3, "layers": 2}
    halves = {"encoder": part("encoder", half), "decoder": part("decoder", {**half, **decoder})}
    model = build_seq2seq(**halves, source_sizes={"vocabulary": 7}, target_vocabulary=11).double()
    with torch.no_grad():  # zeros and equal lengths would hide mistakes
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.eval()


SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8, 9, 8, 4]])
MASK = torch.ones(1, 4, dtype=torch.bool)


@torch.no_grad()
@pytest.mark.parametrize("score", names("score"))
def test_steps_are_teacher_forcing_with_every_score(score: str) -> None:
    model = build(decoder={"score": score})
    memory = model.encoder(SOURCE, MASK)
    expected = model.decoder(TARGET, memory)
    fixed, state = model.decoder.begin(memory)
    for number, token in enumerate(TARGET.unbind(dim=1)):
        logits, state = model.decoder.step(token, state, fixed)
        torch.testing.assert_close(logits, expected[:, number])


def test_every_layer_shows_its_attention() -> None:
    model = build(decoder={})
    with tracing(model) as trace:
        model(SOURCE, MASK, TARGET)
    assert trace.names == ("decoder.layers.0.cross", "decoder.layers.1.cross")
    assert all(trace.weights(name).shape == (1, 1, 5, 4) for name in trace.names)


def test_every_parameter_learns() -> None:
    model = build(decoder={}).train()
    model(SOURCE, MASK, TARGET).square().sum().backward()
    assert [name for name, parameter in model.named_parameters() if not parameter.grad.any()] == []


def test_attending_readers_sum_up_the_values_and_compare_with_the_states() -> None:
    encoder = tiny_encoder("conv")
    memory = encoder(SOURCE, MASK)
    other = replace(memory, values=torch.randn_like(memory.values))
    reader = {"kind": "before", "score": "additive"}
    for spec in ({"kind": "conv"}, {"kind": "rnn", "cell": "gru", "reader": reader, "initial_state": "projected"}):
        decoder = tiny_decoder(spec, encoder)
        weights = []
        for each in (memory, other):
            with tracing(decoder) as trace:
                logits = decoder(TARGET, each)
            weights.append((trace.weights(trace.names[0])[:, :, :1], logits))
        torch.testing.assert_close(weights[0][0], weights[1][0])
        assert not torch.allclose(weights[0][1], weights[1][1])


@pytest.mark.parametrize(("width", "seen"), [(2, [3, 4]), (3, [2, 3, 4]), (4, [2, 3, 4, 5])])
def test_an_even_window_reaches_one_place_further_on_than_back(width: int, seen: list[int]) -> None:
    torch.manual_seed(1)
    spec = {"kind": "conv", "size": 4, "embedding_size": 3, "layers": 1, "width": width}
    encoder = part("encoder", spec)(vocabulary=7).eval()
    tokens, mask = torch.tensor([[3, 5, 6, 2, 4, 1, 5]]), torch.ones(1, 7, dtype=torch.bool)
    states = encoder(tokens, mask).states[0, 3]
    changes = [encoder(tokens - 1 * (torch.arange(7) == place), mask).states[0, 3] for place in range(7)]
    assert [place for place, changed in enumerate(changes) if not torch.equal(changed, states)] == seen


def test_the_state_does_not_grow_with_the_output() -> None:
    model = build(decoder={"width": 4})
    fixed, state = model.decoder.begin(model.encoder(SOURCE, MASK))
    for token in (*TARGET[0], *TARGET[0]):
        _, state = model.decoder.step(token.reshape(1), state, fixed)
    assert [tuple(past.shape) for past in state.past] == [(1, 3, 4)] * 2
    assert state.position.tolist() == [10]


def test_features_fit_a_table_of_embeddings() -> None:
    decoder = build(decoder={}).decoder
    assert decoder.output.weight.shape == decoder.embed.weight.shape


def test_learned_positions_end_for_sources_in_training_and_go_on_elsewhere() -> None:
    short = {"kind": "learned", "max_positions": 4}
    decoder = build(decoder={"position": short}).decoder
    torch.testing.assert_close(
        decoder.position.at(torch.tensor([[0, 3, 4, 9]]))[0], decoder.position.weight[torch.tensor([0, 3, 3, 3])]
    )
    check_decoder({"kind": "conv", "position": short}, "conv")
    encoder, mask = ConvEncoder(vocabulary=7, position=part("position", short)), torch.ones(1, 5, dtype=torch.bool)
    with pytest.raises(TokenError, match="learned positions end at 4; got a text of 5 tokens"):
        encoder(TARGET % 7, mask)
    assert encoder.eval()(TARGET % 7, mask).states.isfinite().all()
    assert encoder.position(2, 3).equal(encoder.position.weight[torch.tensor([2, 3, 3])])


def test_a_direct_score_needs_a_memory_of_its_size() -> None:
    with pytest.raises(ConfigError, match="got 3 and 8; use the general or additive score"):
        part("decoder", {"kind": "conv", "embedding_size": 3})(vocabulary=11, memory_size=8)


@torch.no_grad()
def test_the_variance_stays_the_same_through_a_deep_encoder() -> None:
    torch.manual_seed(1)
    encoder = part("encoder", {"kind": "conv", "size": 96, "embedding_size": 64, "layers": 12})(vocabulary=50)
    memory = encoder(torch.randint(0, 50, (8, 20)), torch.ones(8, 20, dtype=torch.bool))
    assert 0.7 < memory.states.std().item() < 1.4
    assert 0.7 < memory.values.std().item() < 1.4


def test_only_the_length_of_a_weight_is_its_length() -> None:
    layer = NormedLinear(3, 2)
    before = layer.weight.detach().clone()
    with torch.no_grad():
        layer.direction *= 7
        torch.testing.assert_close(layer.weight, before)
        layer.length *= 2
        torch.testing.assert_close(layer.weight, 2 * before)


@pytest.mark.parametrize(("gain", "kept"), [(1.0, 1.0), (3.0, 0.5)])
def test_weights_begin_as_large_as_gain_dropout_and_inputs_ask_for(gain: float, kept: float) -> None:
    torch.manual_seed(1)
    layer = NormedLinear(40, 500, gain=gain, kept=kept)
    assert layer.weight.var().item() == pytest.approx(gain * kept / 40, rel=0.05)
    assert (layer.bias == 0).all()
