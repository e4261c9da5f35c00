"""Show and Tell, and Show, Attend and Tell: their equations, behind images."""

from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.memory import Memory
from seq2see.core.registry import part
from seq2see.models.readers.gated_reader import compute_coordinates
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.testing import check_decoder

PIXELS = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (1, 3, 16, 16), dtype=np.uint8))
SEEN = torch.ones(1, 1, dtype=torch.bool)
TARGET = torch.tensor([[1, 8, 5]])
GRID = np.array([(y, x) for y in (-1, -1 / 3, 1 / 3, 1) for x in (-1, -1 / 3, 1 / 3, 1)])  # of the 4 x 4 cells
CNN = {"kind": "cnn", "backbone": "small", "layer": 1, "size": 3}


def build(decoder: dict[str, Any]) -> Seq2Seq:
    torch.manual_seed(1)
    writer = {"kind": "rnn", "cell": "lstm", "size": 5, "embedding_size": 4, **decoder}
    halves = {"encoder": part("encoder", CNN), "decoder": part("decoder", writer)}
    return build_seq2seq(**halves, source_sizes={"image_size": 16}, target_vocabulary=11).eval()


def numbers(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}


def step_lstm(w: dict[str, np.ndarray], x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    gates = w["rnn.weight_ih_l0"] @ x + w["rnn.bias_ih_l0"] + w["rnn.weight_hh_l0"] @ state[0] + w["rnn.bias_hh_l0"]
    write, keep, new, show = np.split(gates, 4)
    write, keep, show = (1 / (1 + np.exp(-gate)) for gate in (write, keep, show))
    memory = keep * state[1] + write * np.tanh(new)
    return [show * np.tanh(memory), memory]


def test_show_and_tell_is_its_equations() -> None:
    """Vinyals et al. 2015, eq. 10-12: x_{-1} = CNN(I), x_t = W_e S_t, p_{t+1} = LSTM(x_t)."""
    model = build({"reader": "none", "initial_state": "input"})
    with torch.no_grad():
        memory = model.encoder(PIXELS, SEEN)
        logits = model.decoder(TARGET, memory)[0].numpy()
    w, cell = numbers(model.decoder), numbers(model.decoder.cells[0])
    image = w["initial_state.project.weight"] @ memory.summary[0].numpy() + w["initial_state.project.bias"]
    state = step_lstm(cell, image, [np.zeros(5), np.zeros(5)])
    for position, token in enumerate(TARGET[0].tolist()):
        state = step_lstm(cell, w["embed.weight"][token], state)
        np.testing.assert_allclose(logits[position], w["output.weight"] @ state[0] + w["output.bias"], atol=1e-5)


@pytest.mark.parametrize("attends", ["before", "after"])
def test_show_attend_and_tell_is_its_equations(attends: str) -> None:
    """Xu et al. 2015, section 3.1.2 (eq. 1-7) and the gate of 4.2.1; after: a look with h_t, as in Lu et al. 2017."""
    model = build({"reader": {"kind": "gated", "score": "additive", "attends": attends}, "initial_state": "mean"})
    with torch.no_grad():
        memory = model.encoder(PIXELS, SEEN)
        logits = model.decoder(TARGET, memory)[0].numpy()
    a, w, cell = memory.states[0].numpy(), numbers(model.decoder), numbers(model.decoder.cells[0])
    start = np.tanh(w["initial_state.project.weight"] @ a.mean(axis=0) + w["initial_state.project.bias"])
    state = [start[:5], start[5:]]
    keys = a @ w["reader.attend.score.key.weight"].T + w["reader.attend.score.key.bias"]

    def look(h: np.ndarray, a: np.ndarray) -> np.ndarray:
        e = np.tanh(w["reader.attend.score.query.weight"] @ h + keys) @ w["reader.attend.score.vector"]
        beta = 1 / (1 + np.exp(-(w["reader.gate.weight"] @ h + w["reader.gate.bias"])))
        return beta * (np.exp(e) / np.exp(e).sum() @ a)

    where = np.zeros(2)
    for position, token in enumerate(TARGET[0].tolist()):
        before, y = state[0], w["embed.weight"][token]
        state = step_lstm(cell, np.concatenate([y, look(before, a) if attends == "before" else where]), state)
        z, where = look(before if attends == "before" else state[0], a), look(state[0], GRID)
        deep = w["reader.deep_output.weight"] @ np.concatenate([state[0], y, z]) + w["reader.deep_output.bias"]
        expected = w["output.weight"] @ np.tanh(deep) + w["output.bias"]
        np.testing.assert_allclose(logits[position], expected, atol=1e-5)


@pytest.mark.parametrize("encoder", ["cnn", {"kind": "vit", "patch": 8}], ids=str)
@pytest.mark.parametrize(("start", "attends"), [("input", "before"), ("mean", "before"), ("mean", "after")])
def test_captioners_obey_the_laws_behind_images(encoder: Any, start: str, attends: str) -> None:
    reader = {"kind": "gated", "score": "additive", "attends": attends}
    check_decoder(
        {"kind": "rnn", "cell": "lstm", "reader": reader, "initial_state": start, "output_dropout": 0.5}, encoder
    )


def test_looks_after_a_step_obey_the_laws_over_texts() -> None:
    reader = {"kind": "gated", "score": "additive", "attends": "after"}
    check_decoder(
        {"kind": "rnn", "cell": "gru", "reader": reader, "initial_state": "zeros"}, {"kind": "rnn", "cell": "gru"}
    )


@pytest.mark.parametrize("attends", ["before", "after"])
def test_the_gate_begins_open(attends: str) -> None:
    """All states are alike, so whatever the weights are, the gate's share of one is seen."""
    torch.manual_seed(1)
    reader = part("reader", {"kind": "gated", "score": "additive", "attends": attends})
    gated = reader(size=5, memory_size=3, embedding_size=4, dropout=0.0)
    state = torch.tensor([0.5, -1.0, 2.0])
    reading = gated.begin(Memory(state.expand(1, 6, 3), torch.ones(1, 6, dtype=torch.bool), grid=(2, 3)))
    look = gated.read_before if attends == "before" else gated.read_after
    seen = look(
        torch.zeros(1, 1, 5), torch.zeros(1, 1, gated.context_size), torch.zeros(1, 1, dtype=torch.long), reading
    )
    assert ((seen[0, 0, :3] / state > 0.8) & (seen[0, 0, :3] / state < 1)).all()


def test_places_in_images_and_texts() -> None:
    states, mask = torch.zeros(2, 6, 3), torch.ones(2, 6, dtype=torch.bool)
    image = compute_coordinates(Memory(states, mask, grid=(2, 3)))
    assert image[1].tolist() == [[-1, -1], [-1, 0], [-1, 1], [1, -1], [1, 0], [1, 1]]
    mask[1, 3:] = False
    assert compute_coordinates(Memory(states, mask))[1, :3].tolist() == [
        [0, -1],
        [0, 0],
        [0, 1],
    ]  # whatever the others' lengths


def test_dropout_of_the_output_alone_leaves_the_states() -> None:
    model = build({"reader": "none", "initial_state": "input", "output_dropout": 0.5}).train()
    memory = model.encoder(PIXELS, SEEN)
    torch.manual_seed(1)
    dropped = model.decoder.features(TARGET, memory)
    whole = model.eval().decoder.features(TARGET, memory)
    assert (dropped == 0).any()
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
