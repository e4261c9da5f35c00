"""The Neural Turing Machine: how its heads move, what padding may not do, and what a trace sees of it."""

from typing import Any

import numpy as np
import pytest
import torch

from annotated import load
from seq2see.core.errors import ConfigError
from seq2see.core.interventions import Intervention, changing
from seq2see.core.registry import part
from seq2see.core.trace import tracing
from seq2see.models.seq2seq import build_seq2seq
from seq2see.nn.ntm_head import NtmHead, arrange_circularly

SOURCE, TARGET = torch.tensor([[3, 5, 6, 2]]), torch.tensor([[1, 8, 5]])
MASK = torch.ones(1, 4, dtype=torch.bool)
ROWS, WIDTH = 7, 3


def build(*, heads: int = 1, reads: int = 1, start: str = "copy") -> Any:
    torch.manual_seed(1)
    encoder = {"kind": "ntm", "size": 5, "embedding_size": 2, "rows": ROWS, "width": WIDTH, "heads": heads}
    decoder = {"kind": "ntm", "size": 5, "embedding_size": 2, "initial_state": start, "heads": reads}
    parts = {"encoder": part("encoder", encoder), "decoder": part("decoder", decoder)}
    return build_seq2seq(**parts, source_sizes={"vocabulary": 7}, target_vocabulary=11).double().eval()


def test_addressing_is_its_equations() -> None:
    torch.manual_seed(2)
    head = NtmHead(size=5, width=WIDTH).double()
    memory, hidden = torch.randn(1, ROWS, WIDTH).double(), torch.randn(1, 5).double() * 3
    before = torch.rand(1, 1, ROWS).double().softmax(dim=-1)
    rows = arrange_circularly(torch.ones(1, ROWS, dtype=torch.bool))
    weights = head(hidden, head.prepare(memory), rows, before).detach().numpy()
    learned = [parameter.detach().numpy() for parameter in head.parameters()]
    expected = load("ntm")["address"](hidden[0].numpy(), memory[0].numpy(), before[0, 0].numpy(), *learned)
    np.testing.assert_allclose(weights[0, 0], expected, atol=1e-9)


def test_rows_stand_in_a_circle_without_padding() -> None:
    rows = arrange_circularly(torch.tensor([[True] * 4, [True] * 2 + [False] * 2]))
    assert rows.previous.tolist() == [[3, 0, 1, 2], [1, 0, 2, 3]]
    assert rows.next.tolist() == [[1, 2, 3, 0], [1, 0, 2, 3]]


def test_a_head_that_only_turns_moves_by_one_row_and_comes_round() -> None:
    head = NtmHead(size=1, width=WIDTH)
    with torch.no_grad():
        head.addressing.weight.zero_()
        head.addressing.bias.copy_(torch.tensor([0.0] * WIDTH + [0.0, -50.0, -50.0, -50.0, 50.0, 5.0]))
    rows = arrange_circularly(torch.ones(1, 3, dtype=torch.bool))
    weights, places = head.begin(rows.mask), []
    for _ in range(4):
        weights = head(torch.zeros(1, 1), head.prepare(torch.randn(1, 3, WIDTH)), rows, weights)
        places.append(weights[0, 0].argmax().item())
    assert places == [1, 2, 0, 1]


def test_a_flat_head_sharpens_without_vanishing() -> None:
    """(1/rows)^c underflows; its gradient must not become NaN."""
    head = NtmHead(size=1, width=WIDTH)
    with torch.no_grad():
        head.addressing.bias[-1] = 60.0
    rows = arrange_circularly(torch.ones(1, 128, dtype=torch.bool))
    previous = torch.full((1, 1, 128), 1 / 128, requires_grad=True)
    weights = head(torch.ones(1, 1), head.prepare(torch.randn(1, 128, WIDTH)), rows, previous)
    weights.square().sum().backward()
    assert weights.sum().item() == pytest.approx(1, abs=1e-5)
    assert previous.grad is not None
    assert previous.grad.isfinite().all()


def test_a_trace_sees_where_heads_write_and_read() -> None:
    model = build(heads=2, reads=2)
    with torch.no_grad(), tracing(model) as trace:
        model(SOURCE, MASK, TARGET)
    shapes = {name: tuple(trace.weights(name).shape) for name in trace.names}
    assert shapes == {
        "encoder.write_head": (1, 1, 4, ROWS),
        "encoder.read_head": (1, 2, 4, ROWS),
        "decoder.read_head": (1, 2, 3, ROWS),
    }


def look(model: Any, *changes: Intervention) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The outputs of a machine under changes, and all its weights."""
    with torch.no_grad(), changing(model, changes), tracing(model) as trace:
        logits = model(SOURCE, MASK, TARGET)
    return logits, {name: trace.weights(name) for name in trace.names}


@pytest.mark.parametrize("name", ["encoder.write_head", "encoder.read_head", "decoder.read_head"])
def test_a_head_can_be_switched_off_or_look_everywhere(name: str) -> None:
    model = build(heads=2, reads=2)
    own, seen = look(model)
    head = seen[name].shape[1]  # the last one
    for weights, expected in (("none", 0.0), ("uniform", 1 / ROWS)):
        logits, changed = look(model, Intervention(name, (head,), weights=weights))
        assert not torch.allclose(logits, own)
        assert torch.equal(changed[name][:, -1], torch.full_like(seen[name][:, -1], expected))
        # at its first step nothing else has changed yet
        torch.testing.assert_close(changed[name][:, :-1, 0], seen[name][:, :-1, 0])


def test_a_temperature_is_that_of_the_last_weights_of_a_head() -> None:
    model = build(heads=2, reads=2)
    own = look(model)[1]["decoder.read_head"][:, :, 0]
    half = look(model, Intervention("decoder.read_head", (2,), temperature=0.5))[1]["decoder.read_head"][:, :, 0]
    torch.testing.assert_close(half[:, 0], own[:, 0])
    torch.testing.assert_close(half[:, 1], own[:, 1] ** 2 / (own[:, 1] ** 2).sum(dim=-1, keepdim=True))


def test_changes_hold_for_every_hypothesis_of_a_source() -> None:
    torch.manual_seed(2)
    head = NtmHead(size=5, width=WIDTH, heads=2)
    rows = arrange_circularly(torch.tensor([[True] * ROWS, [True] * 4 + [False] * (ROWS - 4)]))
    keys, hidden = head.prepare(torch.randn(2, ROWS, WIDTH)), torch.randn(6, 5)  # three hypotheses each
    previous = head.begin(rows.mask).repeat_interleave(3, dim=0)
    with torch.no_grad():
        own = head(hidden, keys, rows, previous)
        with changing(head, [Intervention("", (2,), weights="uniform")]):
            changed = head(hidden, keys, rows, previous)
    equal = rows.mask / rows.mask.sum(dim=1, keepdim=True)
    torch.testing.assert_close(changed[:, 0], own[:, 0])
    torch.testing.assert_close(changed[:, 1], equal.repeat_interleave(3, dim=0))


def test_the_decoder_goes_on_where_the_encoder_stood() -> None:
    model = build(heads=2, reads=2)
    memory = model.encoder(SOURCE, MASK)
    _, state = model.decoder.begin(memory)
    torch.testing.assert_close(state.weights, memory.head_weights)
    with pytest.raises(ConfigError, match="2 in the encoder and 1 in the decoder"):
        build(heads=2)(SOURCE, MASK, TARGET)
