"""The LSTM-Network: its paper's equations, its tape while it steps, and what a trace sees of it."""

from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.errors import ConfigError
from seq2see.core.registry import part
from seq2see.core.trace import tracing
from seq2see.models.seq2seq import build_seq2seq
from seq2see.nn.key_value_cache import GROWTH_POSITIONS
from seq2see.nn.lstmn_cell import LstmnCell, read_tapes
from seq2see.testing import check_decoder

LSTMN = {"kind": "lstmn", "size": 3, "embedding_size": 2}
DEEP = {**LSTMN, "reader": "none", "fusion": "deep"}
SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8, 5]])
MASK = torch.ones(1, 4, dtype=torch.bool)


def build(decoder: Any, *, encoder: Any = LSTMN) -> Any:
    torch.manual_seed(1)
    parts = {"encoder": part("encoder", encoder), "decoder": part("decoder", decoder)}
    return build_seq2seq(**parts, source_sizes={"vocabulary": 7}, target_vocabulary=11).double().eval()


def numbers(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}


def softmax(a: np.ndarray) -> np.ndarray:
    return np.exp(a) / np.exp(a).sum()


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def walk(
    w: dict[str, np.ndarray], xs: np.ndarray, added: Any = None, *, heads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Cheng et al. 2016, eq. 4-9: all h and c, from the inputs x; `added` gives what comes into each memory."""
    d = w["project_summary.weight"].shape[1]
    w_x, w_h = w["project_input.weight"], w["project_summary.weight"]  # each: four gates, then the query
    hs, cs, h_ = np.zeros((0, d)), np.zeros((0, d)), np.zeros(d)
    for t, x in enumerate(xs):
        asked = w_x[4 * d :] @ x + w["project_input.bias"][4 * d :] + w_h[4 * d :] @ h_
        h_, c_ = np.zeros(d), np.zeros(d)
        for head, own in enumerate(np.split(np.arange(d), heads)):
            a = (
                np.tanh(hs @ w["self_attention.score.key.weight"].T + asked)[:, own]
                @ w["self_attention.score.vector"][own]
            )
            a = (
                a - np.exp(w["self_attention.score.log_slope"][head]) * np.arange(t)[::-1]
                if "self_attention.score.log_slope" in w
                else a
            )
            h_[own], c_[own] = softmax(a) @ hs[:, own], softmax(a) @ cs[:, own]
        i, f, c, o = np.split(w_x[: 4 * d] @ x + w["project_input.bias"][: 4 * d] + w_h[: 4 * d] @ h_, 4)
        c = sigmoid(f) * c_ + sigmoid(i) * np.tanh(c) + (0 if added is None else added[t])
        hs, cs = np.vstack([hs, sigmoid(o) * np.tanh(c)]), np.vstack([cs, c])
    return hs, cs


@pytest.mark.parametrize(("recency", "heads"), [(True, 1), (False, 1), (True, 3)])
def test_the_encoder_is_its_equations(recency: bool, heads: int) -> None:
    model = build(DEEP, encoder={**LSTMN, "recency": recency, "heads": heads})
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        inputs = model.encoder.embed(SOURCE)[0].numpy()
    hs, cs = walk(numbers(model.encoder.layers[0]), inputs, heads=heads)
    np.testing.assert_allclose(memory.states[0].numpy(), hs, atol=1e-9)
    np.testing.assert_allclose(memory.cells[0].numpy(), cs, atol=1e-9)


def test_deep_fusion_is_its_equations() -> None:
    """Eq. 10-15: the source's tapes under an attention of their own, through a gate into the memory."""
    model = build(DEEP)
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)[0].numpy()
        xs = model.decoder.embed(TARGET)[0].numpy()
    states, cells = memory.states[0].numpy(), memory.cells[0].numpy()
    w, d = numbers(model.decoder.layers[0].fusion), 3
    added, g_ = [], np.zeros(d)
    for x in xs:
        entered = w["project_input.weight"] @ x + w["project_input.bias"]
        b = states @ w["cross.score.key.weight"].T + entered[d:] + w["project_summary.weight"][d:] @ g_
        p = softmax(np.tanh(b) @ w["cross.score.vector"])
        g_, m_ = p @ states, p @ cells
        added.append(sigmoid(entered[:d] + w["project_summary.weight"][:d] @ g_) * m_)
    hs, _ = walk(numbers(model.decoder.layers[0].cell), xs, added)
    output = numbers(model.decoder.output)
    np.testing.assert_allclose(logits, hs @ output["weight"].T + output["bias"], atol=1e-9)


def test_deep_fusion_with_a_reader_in_all_layers_obeys_the_laws() -> None:
    check_decoder(
        {"kind": "lstmn", "heads": 2, "fusion": "deep", "reader": {"kind": "bottom", "score": "additive"}}, "lstmn"
    )


def test_the_tape_grows_over_blocks_and_equals_training() -> None:
    model = build(DEEP)
    tokens = torch.randint(0, 11, (2, GROWTH_POSITIONS + 3))
    memory = model.encoder(SOURCE.expand(2, -1), MASK.expand(2, -1))
    taught = model.decoder(tokens, memory).detach()
    with torch.inference_mode():
        reading, state = model.decoder.begin(memory)
        for number, token in enumerate(tokens.unbind(dim=1)):
            logits, state = model.decoder.step(token, state, reading)
            torch.testing.assert_close(logits, taught[:, number])


def test_a_trace_sees_it_look_back_at_earlier_inputs() -> None:
    model = build({**LSTMN, "reader": {"kind": "before", "score": "additive"}})
    with torch.no_grad(), tracing(model) as trace:
        model(SOURCE, MASK, TARGET)
    own = trace.weights("decoder.layers.0.cell.self_attention")
    assert trace.is_causal("decoder.layers.0.cell.self_attention")
    assert own.shape == (1, 1, 3, 3)
    assert (own.triu() == 0).all()  # not even its own place
    torch.testing.assert_close(own.sum(dim=-1)[0, 0], torch.tensor([0.0, 1.0, 1.0], dtype=torch.double))
    assert trace.weights("encoder.layers.0.self_attention").shape == (1, 1, 4, 4)
    assert trace.source_names == ("decoder.reader.attend",)


def test_a_memory_is_mostly_kept_at_first() -> None:
    """Without input, and nothing recalled but the memory: c' = sigmoid(1) c."""
    cell = LstmnCell(input_size=2, size=3)
    torch.nn.init.zeros_(cell.project_summary.weight)
    entered, memory = cell.project_input(torch.zeros(1, 2)), torch.tensor([[0.5, -1.0, 2.0]])
    tape = cell.advance(entered, cell.begin(entered), 0, memory)
    _, memories = read_tapes(cell.advance(entered, tape, 1), 2)
    torch.testing.assert_close(memories[0], torch.cat([memory, memory / (1 + np.exp(-1))]))


def test_heads_begin_to_look_back_from_near_to_far() -> None:
    """Where contents tell nothing: nine tenths of the first head's weight on the last input, less from head to head."""
    model = build(DEEP, encoder={**LSTMN, "heads": 3})
    torch.nn.init.zeros_(model.encoder.layers[0].self_attention.score.vector)
    with torch.no_grad(), tracing(model.encoder) as trace:
        model.encoder(SOURCE, MASK)
    weights = trace.weights(trace.names[0])[0, :, 3]  # of the last input, for the three before it
    assert 0.9 < weights[0, 2] < 0.95
    assert (weights[:, 2].diff() < 0).all()
    assert (weights[:, :3].diff(dim=1) > 0).all()
    assert weights[2, 2] < 0.4


def test_deep_fusion_needs_tapes_of_one_size() -> None:
    with pytest.raises(ConfigError, match="one size; got 3 and 4"):
        build({**DEEP, "size": 4})
    model = build(DEEP, encoder={"kind": "rnn", "cell": "lstm", "size": 3, "directions": "forward"})
    with pytest.raises(ConfigError, match="encoder of kind lstmn"):
        model(SOURCE, MASK, TARGET)
