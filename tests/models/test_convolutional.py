"""The convolutional models: laws for widths, positions, scores and readers, and the paper's equations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.memory import Memory
from seq2see.core.registry import names, part
from seq2see.core.trace import tracing
from seq2see.models.encoders.conv import ConvEncoder
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.nn.convolution import GatedConvolution, NormedLinear
from seq2see.testing import check_decoder, check_encoder, tiny_decoder, tiny_encoder


@pytest.mark.parametrize(("width", "position"), [(1, "learned"), (2, "sinusoidal"), (5, "learned")])
def test_conv_obeys_the_laws_with_other_widths_and_positions(width: int, position: str) -> None:
    spec = {"kind": "conv", "width": width, "position": position}
    check_encoder(spec)
    check_decoder(spec, spec)


@pytest.mark.parametrize(("reader", "start"), [("summary", "mean"), ("after", "summary")])
def test_recurrent_decoders_read_a_convolutional_memory(reader: str, start: str) -> None:
    spec: Any = reader if reader == "summary" else {"kind": reader, "score": "general"}
    check_decoder({"kind": "rnn", "cell": "gru", "reader": spec, "start": start}, "conv")


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


def linear(module: NormedLinear, inputs: np.ndarray) -> np.ndarray:
    """W x + b with W = g v / |v|, row by row."""
    v, g, b = (p.detach().numpy() for p in (module.direction, module.length, module.bias))
    return inputs @ (g[:, None] * v / np.sqrt((v**2).sum(axis=1))[:, None]).T + b


def convolve(module: GatedConvolution, inputs: np.ndarray, left: int, right: int) -> np.ndarray:
    """v(W [x_(i-k/2) ... x_(i+k/2)] + b), v([A B]) = A sigmoid(B), at every place of zero-padded inputs."""
    padded = np.pad(inputs, ((left, right), (0, 0)))
    rows = []
    for place in range(len(inputs)):
        joined = linear(module.project, padded[place : place + left + right + 1].reshape(-1))
        a, b = np.split(joined, 2)
        rows.append(a / (1 + np.exp(-b)))
    return np.stack(rows)


def embed(module: Any, tokens: torch.Tensor) -> np.ndarray:
    """e = w + p, section 3.1."""
    words = module.embed.weight.detach().numpy()[tokens[0].numpy()]
    return words + module.position.weight.detach().numpy()[: len(words)]


@torch.no_grad()
def test_the_encoder_is_its_equations() -> None:
    """Sections 3.2-3.4: h' = (v(conv(h)) + h) sqrt(1/2), z = W h + b, values (z + e) sqrt(1/2)."""
    encoder = build(decoder={}).encoder
    memory: Memory = encoder(SOURCE, MASK)
    e = embed(encoder, SOURCE)
    h = linear(encoder.widen, e)
    for layer in encoder.layers:
        h = (convolve(layer, h, 1, 1) + h) * np.sqrt(0.5)
    z = linear(encoder.narrow, h)
    np.testing.assert_allclose(memory.states[0], z, atol=1e-12)
    np.testing.assert_allclose(memory.values[0], (z + e) * np.sqrt(0.5), atol=1e-12)
    np.testing.assert_allclose(memory.summary[0], z.mean(axis=0), atol=1e-12)


@torch.no_grad()
def test_the_decoder_is_its_equations() -> None:
    """Sections 3.2-3.4: d = W h + b + g, a = softmax(d z), c = m sqrt(1/m) sum a (z + e), added to h."""
    model = build(decoder={"score": "dot"})
    decoder = model.decoder
    memory: Memory = model.encoder(SOURCE, MASK)
    z, values, m = memory.states[0].numpy(), memory.values[0].numpy(), 4
    g = embed(decoder, TARGET)
    h, half = linear(decoder.widen, g), np.sqrt(0.5)
    for layer in decoder.layers:
        h = (convolve(layer.convolution, h, 2, 0) + h) * half
        d = (linear(layer.query, h) + g) * half
        scores = np.exp(d @ z.T)
        c = m * np.sqrt(1 / m) * (scores / scores.sum(axis=1, keepdims=True)) @ values
        h = (h + linear(layer.context, c)) * half
    features = linear(decoder.narrow, h)
    np.testing.assert_allclose(decoder.features(TARGET, memory)[0], features, atol=1e-12)
    logits = features @ decoder.output.weight.numpy().T + decoder.output.bias.numpy()
    np.testing.assert_allclose(decoder(TARGET, memory)[0], logits, atol=1e-12)


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
    for spec in ({"kind": "conv"}, {"kind": "rnn", "cell": "gru", "reader": reader, "start": "summary"}):
        decoder = tiny_decoder(spec, encoder)
        weights = []
        for each in (memory, other):
            with tracing(decoder) as trace:
                logits = decoder(TARGET, each)
            weights.append((trace.weights(trace.names[0])[:, :, :1], logits))
        torch.testing.assert_close(weights[0][0], weights[1][0])
        assert not torch.allclose(weights[0][1], weights[1][1])


def test_the_state_does_not_grow_with_the_output() -> None:
    model = build(decoder={"width": 4})
    fixed, state = model.decoder.begin(model.encoder(SOURCE, MASK))
    for token in (*TARGET[0], *TARGET[0]):
        _, state = model.decoder.step(token.reshape(1), state, fixed)
    assert [tuple(past.shape) for past in state.past] == [(1, 3, 4)] * 2
    assert state.place.tolist() == [10]


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
