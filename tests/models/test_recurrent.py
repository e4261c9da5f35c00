"""The recurrent models: laws over every registered cell, reader and start, and the papers' equations."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from company import check_company

from annotated import load
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


def test_the_summary_is_the_end_of_both_ways_through_the_top_layer() -> None:
    torch.manual_seed(1)
    spec = {"kind": "rnn", "cell": "gru", "size": 3, "embedding_size": 2, "layers": 2, "directions": "both"}
    encoder = part("encoder", spec)(vocabulary=7).eval()
    tokens, mask = torch.tensor([[3, 5, 6, 2], [4, 1, 0, 0]]), torch.tensor([[True] * 4, [True] * 2 + [False] * 2])
    memory = encoder(tokens, mask)
    for row, last in enumerate((3, 1)):
        ends = torch.cat([memory.states[row, last, :3], memory.states[row, 0, 3:]])
        torch.testing.assert_close(memory.summary[row], ends)


@pytest.mark.parametrize(("directions", "residual_from"), [("both", 2), ("forward", 2), ("first", 3)])
def test_deep_encoder_with_residual_connections_obeys_the_laws(directions: str, residual_from: int) -> None:
    deep = {"layers": 4, "residual_from": residual_from}
    check_encoder({"kind": "rnn", "cell": "lstm", "directions": directions, **deep})


def test_a_decoder_after_the_encoder_that_reads_nothing_obeys_the_laws() -> None:
    check_decoder({"kind": "rnn", "cell": "gru", "reader": "summary", "initial_state": "projected"}, "none")


@pytest.mark.parametrize("reader", ["before", "bottom", "none"])  # walks, walks below, runs
def test_deep_decoder_with_residual_connections_obeys_the_laws(reader: str) -> None:
    deep = {"layers": 4, "residual_from": 3}
    reading = {"kind": reader, **({"score": "additive"} if reader != "none" else {})}
    decoder = {"kind": "rnn", "cell": "lstm", "reader": reading, "initial_state": "projected", **deep}
    check_decoder(decoder, {"kind": "rnn", "cell": "lstm", "directions": "first", **deep})


@pytest.mark.parametrize("cell", names("cell"))
def test_decoder_obeys_the_laws_with_every_cell(cell: str) -> None:
    reader = {"kind": "before", "score": "additive"}
    half = {"kind": "rnn", "cell": cell}
    check_decoder({**half, "reader": reader, "initial_state": "copy"}, {**half, **ONE_WAY})


@pytest.mark.parametrize("reader", readers(), ids=str)
def test_decoder_obeys_the_laws_with_every_reader(reader: dict[str, Any]) -> None:
    check_decoder({**GRU, "reader": reader, "initial_state": "projected"}, GRU)


@pytest.mark.parametrize("start", names("initial_state"))
def test_decoder_obeys_the_laws_with_every_start(start: str) -> None:
    encoder = {"kind": "rnn", "cell": "lstm", "directions": "backward"}
    reader = {"kind": "before", "score": "additive"} if start == "zeros" else "none"
    check_decoder({"kind": "rnn", "cell": "lstm", "reader": reader, "initial_state": start}, encoder)


@pytest.mark.parametrize("score", names("score"))
def test_decoder_obeys_the_laws_with_every_score(score: str) -> None:
    check_decoder(
        {**GRU, "reader": {"kind": "after", "score": score}, "initial_state": "projected"}, {**GRU, **ONE_WAY}
    )


@pytest.mark.parametrize("normalise", names("normalise"))
def test_decoder_obeys_the_laws_with_every_normaliser(normalise: str) -> None:
    reader = {"kind": "before", "score": "additive", "normalise": normalise}
    check_decoder({**GRU, "reader": reader, "initial_state": "projected"}, GRU)


@pytest.mark.parametrize("start", names("initial_state"))
@pytest.mark.parametrize("reader", readers(), ids=str)
def test_longer_sources_beside_it_change_no_logits(reader: dict[str, Any], start: str) -> None:
    check_company({**GRU, "reader": reader, "initial_state": start}, {**GRU, **ONE_WAY})


ATTENDING = [reader for reader in readers() if "score" in reader]
WINDOWS = names("window")
EACH_ONCE = [
    (WINDOWS[n % len(WINDOWS)], ATTENDING[n % len(ATTENDING)]) for n in range(max(len(WINDOWS), len(ATTENDING)))
]


@pytest.mark.parametrize(("window", "reader"), EACH_ONCE, ids=str)
def test_decoder_obeys_the_laws_with_every_window(window: str, reader: dict[str, Any]) -> None:
    """Each reader asks where it is in a way of its own."""
    narrow = {**reader, "window": {"kind": window, "radius": 1}}
    check_decoder({**GRU, "reader": narrow, "initial_state": "projected"}, GRU)


def build(reader: Any, start: str, *, cell: str = "gru", directions: str = "both") -> Seq2Seq:
    torch.manual_seed(1)
    model = build_seq2seq(
        encoder=part(
            "encoder", {"kind": "rnn", "cell": cell, "size": 3, "embedding_size": 4, "directions": directions}
        ),
        decoder=part(
            "decoder",
            {"kind": "rnn", "cell": cell, "size": 5, "embedding_size": 2, "reader": reader, "initial_state": start},
        ),
        source_sizes={"vocabulary": 7},
        target_vocabulary=11,
    )
    return model.eval()


SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8]])
MASK = torch.ones(1, 4, dtype=torch.bool)


def test_local_luong_is_its_equations() -> None:
    """Section 3.2: around p = t, the same for each step; else as Luong's page has it."""
    model = build({"kind": "after", "score": "general", "window": {"kind": "local-m", "radius": 1}}, "zeros")
    with torch.no_grad():
        memory = model.encoder(SOURCE, MASK)
        logits = model.decoder(TARGET, memory)
    h, step = memory.states[0].numpy(), load("luong")["luong_step"]
    state, context = np.zeros(5), np.zeros(5)
    for position, embedded in enumerate(model.decoder.embed(TARGET)[0].detach().numpy()):
        near = h[max(position - 1, 0) : position + 2]
        expected, state, context = step(model.decoder, embedded, state, context, near)
        np.testing.assert_allclose(logits[0, position].numpy(), expected, atol=1e-5)


def test_a_window_may_be_left_out_by_name() -> None:
    model = build({"kind": "after", "score": "general", "window": None}, "zeros")
    assert model.decoder.reader.attend.window is None


def test_sutskever_hands_the_final_state_of_the_reversed_source_over() -> None:
    torch.manual_seed(1)
    cells = {"cell": "lstm", "size": 3, "layers": 2}
    model = build_seq2seq(
        encoder=part("encoder", {"kind": "rnn", "directions": "backward", **cells}),
        decoder=part("decoder", {"kind": "rnn", "reader": "none", "initial_state": "copy", **cells}),
        source_sizes={"vocabulary": 7},
        target_vocabulary=11,
    )
    _, state = model.decoder.begin(model.encoder(SOURCE, MASK))
    reversed_ = model.encoder.embed(SOURCE.flip(1))
    for layer, cell in enumerate(model.encoder.layers):
        reversed_, last = cell[0].run(reversed_, cell[0].zeros(reversed_[:, 0]))
        torch.testing.assert_close(state.cells[layer], last)


def test_gnmt_encoder_is_its_equations() -> None:
    """Wu et al. 2016, section 3.1-3.2: both directions, then forward layers; residuals from the third on (eq. 6)."""
    torch.manual_seed(1)
    spec = {"kind": "rnn", "cell": "lstm", "size": 3, "embedding_size": 2, "layers": 4}
    encoder = part("encoder", {**spec, "directions": "first", "residual_from": 3})(vocabulary=7).eval()

    def read(cell: Any, inputs: np.ndarray) -> np.ndarray:
        state, outputs = (np.zeros(3), np.zeros(3)), []
        for step in inputs:
            state = load("gnmt")["lstm"](cell, step, *state)
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
    spec = {
        "kind": "rnn",
        "cell": "lstm",
        "layers": 3,
        "reader": {"kind": "bottom", "score": "dot"},
        "initial_state": "zeros",
    }
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
    encoder = tiny_encoder("none")
    memory = encoder(SOURCE, MASK)
    assert memory.states.shape == (1, 1, 128)
    decoder = tiny_decoder(
        {"kind": "rnn", "cell": "gru", "reader": {"kind": "before", "score": "additive"}, "initial_state": "zeros"},
        encoder,
    )
    torch.testing.assert_close(decoder(TARGET, memory), decoder(TARGET, encoder(SOURCE + 1, MASK)))


def test_carry_needs_fitting_halves() -> None:
    model = build("none", "copy")
    with pytest.raises(ConfigError, match="same cell, layers and size"):
        model(SOURCE, MASK, TARGET)


def test_a_model_without_attention_says_so() -> None:
    model = build("none", "projected")
    with pytest.raises(Seq2SeeError, match="no attention"), tracing(model):
        model(SOURCE, MASK, TARGET)


def test_trace_names_the_attend_and_joins_steps() -> None:
    model = build({"kind": "before", "score": "additive"}, "projected")
    with tracing(model) as trace:
        model(SOURCE, MASK, TARGET)
    assert trace.names == ("decoder.reader.attend",)
    assert trace.weights("decoder.reader.attend").shape == (1, 1, 2, 4)
