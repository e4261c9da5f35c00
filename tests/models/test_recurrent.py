"""The recurrent models: laws over every registered cell, reader and start, and the papers' equations."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.core.registry import find, names, part
from seq2see.core.trace import tracing
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.testing import check_decoder, check_encoder, tiny_decoder, tiny_encoder

DIRECTIONS = ("forward", "backward", "both", "first")
GRU, ONE_WAY = {"kind": "rnn", "cell": "gru"}, {"directions": "forward"}


def readers() -> list[dict[str, Any]]:
    """Every registered reader with its switches both ways."""
    specs = []
    for kind in names("reader"):
        parameters = inspect.signature(find("reader", kind)).parameters
        spec = {"kind": kind, **({"score": "additive"} if "score" in parameters else {})}
        switches = [name for name, p in parameters.items() if isinstance(p.default, bool)]
        specs += [spec, *({**spec, name: not parameters[name].default} for name in switches)]
    return specs


@pytest.mark.parametrize("cell", names("cell"))
@pytest.mark.parametrize("directions", DIRECTIONS)
def test_encoder_obeys_the_laws(cell: str, directions: str) -> None:
    check_encoder({"kind": "rnn", "cell": cell, "directions": directions})


@pytest.mark.parametrize(("directions", "residual_from"), [("both", 2), ("forward", 2), ("first", 3)])
def test_deep_encoder_with_residual_connections_obeys_the_laws(directions: str, residual_from: int) -> None:
    deep = {"layers": 4, "residual_from": residual_from}
    check_encoder({"kind": "rnn", "cell": "lstm", "directions": directions, **deep})


def test_a_decoder_after_the_encoder_that_reads_nothing_obeys_the_laws() -> None:
    check_decoder({"kind": "rnn", "cell": "gru", "reader": "summary", "start": "summary"}, "nothing")


@pytest.mark.parametrize("reader", ["before", "bottom", "nothing"])  # walks, walks below, runs
def test_deep_decoder_with_residual_connections_obeys_the_laws(reader: str) -> None:
    deep = {"layers": 4, "residual_from": 3}
    reading = {"kind": reader, **({"score": "additive"} if reader != "nothing" else {})}
    decoder = {"kind": "rnn", "cell": "lstm", "reader": reading, "start": "summary", **deep}
    check_decoder(decoder, {"kind": "rnn", "cell": "lstm", "directions": "first", **deep})


@pytest.mark.parametrize("cell", names("cell"))
def test_decoder_obeys_the_laws_with_every_cell(cell: str) -> None:
    reader = {"kind": "before", "score": "additive"}
    half = {"kind": "rnn", "cell": cell}
    check_decoder({**half, "reader": reader, "start": "carry"}, {**half, **ONE_WAY})


@pytest.mark.parametrize("reader", readers(), ids=str)
def test_decoder_obeys_the_laws_with_every_reader(reader: dict[str, Any]) -> None:
    check_decoder({**GRU, "reader": reader, "start": "summary"}, GRU)


@pytest.mark.parametrize("start", names("start"))
def test_decoder_obeys_the_laws_with_every_start(start: str) -> None:
    encoder = {"kind": "rnn", "cell": "lstm", "directions": "backward"}
    reader = {"kind": "before", "score": "additive"} if start == "zeros" else "nothing"
    check_decoder({"kind": "rnn", "cell": "lstm", "reader": reader, "start": start}, encoder)


@pytest.mark.parametrize("score", names("score"))
def test_decoder_obeys_the_laws_with_every_score(score: str) -> None:
    check_decoder({**GRU, "reader": {"kind": "after", "score": score}, "start": "summary"}, {**GRU, **ONE_WAY})


@pytest.mark.parametrize("normalise", names("normalise"))
def test_decoder_obeys_the_laws_with_every_normaliser(normalise: str) -> None:
    reader = {"kind": "before", "score": "additive", "normalise": normalise}
    check_decoder({**GRU, "reader": reader, "start": "summary"}, GRU)


ATTENDING = [reader for reader in readers() if "score" in reader]
WINDOWS = names("window")
EACH_ONCE = [
    (WINDOWS[n % len(WINDOWS)], ATTENDING[n % len(ATTENDING)]) for n in range(max(len(WINDOWS), len(ATTENDING)))
]


@pytest.mark.parametrize(("window", "reader"), EACH_ONCE, ids=str)
def test_decoder_obeys_the_laws_with_every_window(window: str, reader: dict[str, Any]) -> None:
    """Each reader asks where it is in a way of its own."""
    narrow = {**reader, "window": {"kind": window, "radius": 1}}
    check_decoder({**GRU, "reader": narrow, "start": "summary"}, GRU)


def build(reader: Any, start: str, *, cell: str = "gru", directions: str = "both") -> Seq2Seq:
    torch.manual_seed(1)
    model = build_seq2seq(
        encoder=part(
            "encoder", {"kind": "rnn", "cell": cell, "size": 3, "embedding_size": 4, "directions": directions}
        ),
        decoder=part(
            "decoder",
            {"kind": "rnn", "cell": cell, "size": 5, "embedding_size": 2, "reader": reader, "start": start},
        ),
        source_sizes={"vocabulary": 7},
        target_vocabulary=11,
    )
    return model.eval()


SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8]])
MASK = torch.ones(1, 4, dtype=torch.bool)


def numbers(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}


def gru_step(w: dict[str, np.ndarray], x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """One step of torch's GRU in NumPy."""
    size = len(h)
    gx = w["rnn.weight_ih_l0"] @ x + w["rnn.bias_ih_l0"]
    gh = w["rnn.weight_hh_l0"] @ h + w["rnn.bias_hh_l0"]
    gates = 1 / (1 + np.exp(-(gx[: 2 * size] + gh[: 2 * size])))
    reset, update = gates[:size], gates[size:]
    new = np.tanh(gx[2 * size :] + reset * gh[2 * size :])
    return (1 - update) * new + update * h


def test_bahdanau_is_its_equations() -> None:
    """Section 3.1 and appendix A: e = v.tanh(W s + U h), a = softmax(e), c = sum a h, s' = f(s, y, c), maxout."""
    model = build({"kind": "before", "score": "additive"}, "summary")
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)
    h, w = memory.states[0].numpy(), numbers(model.decoder)
    cell = numbers(model.decoder.cells[0])
    state = np.tanh(w["start.project.weight"] @ memory.summary[0].numpy() + w["start.project.bias"])
    for position, token in enumerate(TARGET[0].tolist()):
        keys = h @ w["reader.attend.score.key.weight"].T + w["reader.attend.score.key.bias"]
        e = np.tanh(w["reader.attend.score.query.weight"] @ state + keys) @ w["reader.attend.score.vector"]
        weights = np.exp(e) / np.exp(e).sum()
        context, y = weights @ h, w["embed.weight"][token]
        state = gru_step(cell, np.concatenate([y, context]), state)
        deep = w["reader.readout.project.weight"] @ np.concatenate([state, y, context])
        deep = (deep + w["reader.readout.project.bias"]).reshape(-1, 2).max(axis=1)
        expected = w["output.weight"] @ deep + w["output.bias"]
        np.testing.assert_allclose(logits[0, position].numpy(), expected, atol=1e-5)


def test_luong_is_its_equations() -> None:
    """Eq. 5-8 with the general score and input feeding."""
    model = build({"kind": "after", "score": "general"}, "zeros")
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)
    h, w = memory.states[0].numpy(), numbers(model.decoder)
    cell = numbers(model.decoder.cells[0])
    state, fed = np.zeros(5), np.zeros(5)
    for position, token in enumerate(TARGET[0].tolist()):
        state = gru_step(cell, np.concatenate([w["embed.weight"][token], fed]), state)
        e = h @ w["reader.attend.score.project.weight"].T @ state
        weights = np.exp(e) / np.exp(e).sum()
        fed = np.tanh(w["reader.combine.weight"] @ np.concatenate([weights @ h, state]))
        np.testing.assert_allclose(logits[0, position].numpy(), w["output.weight"] @ fed + w["output.bias"], atol=1e-5)


def test_local_luong_is_its_equations() -> None:
    """Section 3.2: around p = t, the same for each step; eq. 5-8 else as they are."""
    model = build({"kind": "after", "score": "general", "window": {"kind": "monotonic", "radius": 1}}, "zeros")
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)
    h, w = memory.states[0].numpy(), numbers(model.decoder)
    cell = numbers(model.decoder.cells[0])
    state, fed = np.zeros(5), np.zeros(5)
    for position, token in enumerate(TARGET[0].tolist()):
        state = gru_step(cell, np.concatenate([w["embed.weight"][token], fed]), state)
        near = h[max(position - 1, 0) : position + 2]
        e = near @ w["reader.attend.score.project.weight"].T @ state
        weights = np.exp(e) / np.exp(e).sum()
        fed = np.tanh(w["reader.combine.weight"] @ np.concatenate([weights @ near, state]))
        np.testing.assert_allclose(logits[0, position].numpy(), w["output.weight"] @ fed + w["output.bias"], atol=1e-5)


def test_a_window_may_be_left_out_by_name() -> None:
    model = build({"kind": "after", "score": "general", "window": None}, "zeros")
    assert model.decoder.reader.attend.window is None


def test_cho_reads_its_summary_at_every_step_and_at_the_output() -> None:
    model = build("summary", "zeros")
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)
    w, cell = numbers(model.decoder), numbers(model.decoder.cells[0])
    c = np.tanh(w["reader.project.weight"] @ memory.summary[0].numpy() + w["reader.project.bias"])
    state = np.zeros(5)
    for position, token in enumerate(TARGET[0].tolist()):
        y = w["embed.weight"][token]
        state = gru_step(cell, np.concatenate([y, c]), state)
        deep = w["reader.readout.project.weight"] @ np.concatenate([state, y, c]) + w["reader.readout.project.bias"]
        expected = w["output.weight"] @ deep.reshape(-1, 2).max(axis=1) + w["output.bias"]
        np.testing.assert_allclose(logits[0, position].numpy(), expected, atol=1e-5)


def test_sutskever_hands_the_final_state_of_the_reversed_source_over() -> None:
    torch.manual_seed(1)
    cells = {"cell": "lstm", "size": 3, "layers": 2}
    model = build_seq2seq(
        encoder=part("encoder", {"kind": "rnn", "directions": "backward", **cells}),
        decoder=part("decoder", {"kind": "rnn", "reader": "nothing", "start": "carry", **cells}),
        source_sizes={"vocabulary": 7},
        target_vocabulary=11,
    )
    _, state = model.decoder.begin(model.encoder(SOURCE, MASK))
    reversed_ = model.encoder.embed(SOURCE.flip(1))
    for layer, cell in enumerate(model.encoder.layers):
        reversed_, last = cell[0].run(reversed_, cell[0].zeros(reversed_[:, 0]))
        torch.testing.assert_close(state.cells[layer], last)


def lstm_step(w: dict[str, np.ndarray], x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step of torch's LSTM in NumPy."""
    gates = w["rnn.weight_ih_l0"] @ x + w["rnn.bias_ih_l0"] + w["rnn.weight_hh_l0"] @ h + w["rnn.bias_hh_l0"]
    write, keep, new, show = np.split(gates, 4)
    write, keep, show = (1 / (1 + np.exp(-gate)) for gate in (write, keep, show))
    c = keep * c + write * np.tanh(new)
    return show * np.tanh(c), c


def test_gnmt_is_its_equations() -> None:
    """Wu et al. 2016, section 3: a_i from y_{i-1} of the bottom layer (eq. 4), fed to all layers; residuals (eq. 6)."""
    torch.manual_seed(1)
    deep = {"cell": "lstm", "size": 3, "embedding_size": 2, "layers": 4, "residual_from": 3}
    model = build_seq2seq(
        encoder=part("encoder", {"kind": "rnn", "directions": "first", **deep}),
        decoder=part(
            "decoder", {"kind": "rnn", "reader": {"kind": "bottom", "score": "additive"}, "start": "zeros", **deep}
        ),
        source_sizes={"vocabulary": 7},
        target_vocabulary=11,
    ).eval()
    target = torch.tensor([[1, 8, 5]])
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(target, memory)
    x, w = memory.states[0].numpy(), numbers(model.decoder)
    states = [(np.zeros(3), np.zeros(3)) for _ in range(4)]
    for position, token in enumerate(target[0].tolist()):
        keys = x @ w["reader.attend.score.key.weight"].T + w["reader.attend.score.key.bias"]
        s = np.tanh(w["reader.attend.score.query.weight"] @ states[0][0] + keys) @ w["reader.attend.score.vector"]
        a = np.exp(s) / np.exp(s).sum() @ x
        below = w["embed.weight"][token]
        for layer in range(4):
            cell = numbers(model.decoder.cells[layer])
            states[layer] = lstm_step(cell, np.concatenate([below, a]), *states[layer])
            below = states[layer][0] + (below if layer >= 2 else 0)
        expected = w["output.weight"] @ below + w["output.bias"]
        np.testing.assert_allclose(logits[0, position].numpy(), expected, atol=1e-5)


def test_gnmt_encoder_is_its_equations() -> None:
    """Wu et al. 2016, section 3.1-3.2: both directions, then forward layers; residuals from the third on (eq. 6)."""
    torch.manual_seed(1)
    spec = {"kind": "rnn", "cell": "lstm", "size": 3, "embedding_size": 2, "layers": 4}
    encoder = part("encoder", {**spec, "directions": "first", "residual_from": 3})(vocabulary=7).eval()

    def read(cell: Any, inputs: np.ndarray) -> np.ndarray:
        state, outputs = (np.zeros(3), np.zeros(3)), []
        for step in inputs:
            state = lstm_step(numbers(cell), step, *state)
            outputs.append(state[0])
        return np.stack(outputs)

    with torch.no_grad():
        states = encoder(SOURCE, MASK).states[0].numpy()
        x = encoder.embed(SOURCE)[0].numpy()
    first, *others = encoder.layers
    x = np.concatenate([read(first[0], x), read(first[1], x[::-1])[::-1]], axis=1)
    for number, (cell,) in enumerate(others, start=2):
        x = read(cell, x) + (x if number >= 3 else 0)
    np.testing.assert_allclose(states, x, atol=1e-6)


def test_the_layers_above_the_bottom_one_run_over_all_steps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"kind": "rnn", "cell": "lstm", "layers": 3, "reader": {"kind": "bottom", "score": "dot"}, "start": "zeros"}
    encoder = tiny_encoder({"kind": "rnn", "cell": "lstm", "directions": "forward"})
    decoder = tiny_decoder(spec, encoder)
    for cell in decoder.cells[1:]:
        monkeypatch.setattr(cell, "advance", None)
    assert decoder(TARGET, encoder(SOURCE, MASK)).shape == (1, 2, 17)


def test_a_residual_connection_needs_equal_widths() -> None:
    with pytest.raises(ConfigError, match="must be at least 3; got 2"):
        tiny_encoder({"kind": "rnn", "cell": "gru", "directions": "first", "residual_from": 2})


def test_attending_to_nothing_tells_nothing() -> None:
    """A language model: what it is given as source changes nothing."""
    encoder = tiny_encoder("nothing")
    memory = encoder(SOURCE, MASK)
    assert memory.states.shape == (1, 1, 128)
    decoder = tiny_decoder(
        {"kind": "rnn", "cell": "gru", "reader": {"kind": "before", "score": "additive"}, "start": "zeros"}, encoder
    )
    torch.testing.assert_close(decoder(TARGET, memory), decoder(TARGET, encoder(SOURCE + 1, MASK)))


def test_carry_needs_fitting_halves() -> None:
    model = build("nothing", "carry")
    with pytest.raises(ConfigError, match="same cell, layers and size"):
        model(SOURCE, MASK, TARGET)


def test_a_model_without_attention_says_so() -> None:
    model = build("nothing", "summary")
    with pytest.raises(Seq2SeeError, match="no attention"), tracing(model):
        model(SOURCE, MASK, TARGET)


def test_trace_names_the_attend_and_joins_steps() -> None:
    model = build({"kind": "before", "score": "additive"}, "summary")
    with tracing(model) as trace:
        model(SOURCE, MASK, TARGET)
    assert trace.names == ("decoder.reader.attend",)
    assert trace.weights("decoder.reader.attend").shape == (1, 1, 2, 4)
