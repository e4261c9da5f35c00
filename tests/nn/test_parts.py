"""Cells, pooling, dropout and the chunked loss against torch and against numbers by hand."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2see.core.memory import Memory
from seq2see.core.registry import Part, names, part
from seq2see.nn import cross_entropy as loss_module
from seq2see.nn.cell import Cell, read_sequence
from seq2see.nn.cross_entropy import output_cross_entropy, shift_targets
from seq2see.nn.dropout import Dropout, draw_mask
from seq2see.nn.embed import Embed
from seq2see.nn.maxout import Maxout
from seq2see.nn.multihead import MultiHead
from seq2see.nn.pool import Pool
from seq2see.nn.position import Sinusoidal
from seq2see.nn.ragged import list_steps, read_ragged

LENGTHS = torch.tensor([7, 4, 1])
MASK = torch.arange(7) < LENGTHS.unsqueeze(1)


def build_cell(kind: str) -> Cell:
    torch.manual_seed(1)
    return part("cell", kind)(input_size=5, size=3).double()


@pytest.mark.parametrize("kind", names("cell"))
def test_steps_equal_torchs_own_kernel(kind: str) -> None:
    cell = build_cell(kind)
    inputs = torch.randn(2, 7, 5, dtype=torch.double)
    state = cell.zeros(inputs[:, 0])
    outputs, last = cell.run(inputs, state)
    for position in range(7):
        first, rest = cell.project(inputs[:, position, :2]), F.linear(inputs[:, position, 2:], cell.columns(3))
        state = cell.advance(first + rest, state)
        torch.testing.assert_close(state[0], outputs[:, position])
    torch.testing.assert_close(state, last)


@pytest.mark.parametrize("kind", names("cell"))
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_reading_padded_rows_equals_packing(kind: str, direction: str) -> None:
    cell = build_cell(kind)
    inputs = torch.randn(3, 7, 5, dtype=torch.double)
    states, last = read_sequence(cell, inputs, MASK, direction)
    # torch's packed bidirectional module with our weights in both directions
    both = type(cell.rnn)(5, 3, batch_first=True, bidirectional=True).double()
    weights = dict(cell.rnn.state_dict())
    both.load_state_dict(weights | {f"{name}_reverse": value for name, value in weights.items()})
    packed = nn.utils.rnn.pack_padded_sequence(inputs, LENGTHS, batch_first=True)
    outputs, final = both(packed)
    outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    way = 0 if direction == "forward" else 1
    torch.testing.assert_close(states[MASK], outputs[..., 3 * way : 3 * way + 3][MASK])
    finals = final if isinstance(final, tuple) else (final,)
    torch.testing.assert_close(last, tuple(part[way] for part in finals))


def test_an_lstm_begins_with_its_forget_gate_open_and_the_others_half_open() -> None:
    """Without input: c' = sigmoid(1) c and h' = sigmoid(0) tanh(c'), for a memory that differs in every number."""
    cell, memory = build_cell("lstm"), torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.double)
    start = (torch.zeros_like(memory), memory)
    kept = memory / (1 + np.exp(-1))
    _, last = cell.run(torch.zeros(1, 1, 5, dtype=torch.double), start)
    torch.testing.assert_close(last, (kept.tanh() / 2, kept))
    inputs = torch.randn(1, 1, 5, dtype=torch.double) * 1e-3  # so small that the gates stay where they began
    new = inputs[0] @ cell.rnn.weight_ih_l0[6:9].T
    _, last = cell.run(inputs, cell.zeros(inputs[0]))
    torch.testing.assert_close(last[1], new / 2, rtol=1e-2, atol=0)


@pytest.mark.parametrize("kind", names("cell"))
def test_each_gate_of_a_cell_begins_as_a_matrix_of_its_own(kind: str) -> None:
    """Xavier's uniform numbers reach sqrt(6 / (inputs + outputs)), where a gate has as many outputs as the state."""
    torch.manual_seed(1)
    cell: Cell = part("cell", kind)(input_size=30, size=40)
    for gate in cell.rnn.weight_ih_l0.chunk(cell.gates):
        assert gate.abs().max().item() == pytest.approx((6 / 70) ** 0.5, rel=0.02)
    for gate in cell.rnn.weight_hh_l0.chunk(cell.gates):
        torch.testing.assert_close(gate @ gate.T, torch.eye(40), rtol=0, atol=1e-5)


def read(kind: str, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(1)
    pool: Pool = part("pool", kind)(size=4)
    return pool(Memory(states, mask, summary=states[:, 0]))


@pytest.mark.parametrize("kind", names("pool"))
def test_pools_read_only_what_is_there(kind: str) -> None:
    states = torch.randn(3, 7, 4, requires_grad=True)
    together = read(kind, states, MASK)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = read(kind, states[row : row + 1, :length], MASK[row : row + 1, :length])
        torch.testing.assert_close(together[row], alone[0])
    together.sum().backward()
    assert states.grad is not None
    assert (states.grad[~MASK] == 0).all()


@pytest.mark.parametrize("kind", names("pool"))
def test_pools_of_nothing_are_zero(kind: str) -> None:
    states = torch.randn(1, 3, 4, requires_grad=True)
    pooled = read(kind, states, torch.zeros(1, 3, dtype=torch.bool))
    assert (pooled == 0).all()
    pooled.sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()


@pytest.mark.parametrize("kind", names("pool"))
def test_all_that_a_pool_keeps_is_learned(kind: str) -> None:
    torch.manual_seed(1)
    pool = part("pool", kind)(size=4)
    before = {name: value.clone() for name, value in pool.state_dict().items()}
    states = torch.randn(3, 7, 4, requires_grad=True)
    pool(Memory(states, MASK, summary=states[:, 0])).square().sum().backward()
    torch.optim.SGD([states, *pool.parameters()], lr=1.0).step()
    assert not [name for name, value in pool.state_dict().items() if torch.equal(value, before[name])]


def test_mean_and_largest_by_hand() -> None:
    states = torch.tensor([[[1.0, -4, 0, 0], [3.0, -2, 0, 0], [99.0, 99, 99, 99]]])
    mask = torch.tensor([[True, True, False]])
    assert read("mean", states, mask).tolist() == [[2, -3, 0, 0]]
    assert read("max", states, mask).tolist() == [[3, -2, 0, 0]]


@pytest.mark.parametrize("kind", names("cell"))
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_reading_ragged_rows_equals_reading_padded_ones(kind: str, direction: str) -> None:
    cell = build_cell(kind)
    inputs = torch.randn(4, 7, 5, dtype=torch.double)
    mask = torch.arange(7) < torch.tensor([4, 1, 0, 7]).unsqueeze(1)  # ordered by length they are no mere exchange
    steps = list_steps(mask)
    assert sum(steps.sizes) == mask.sum()  # no position of padding is computed
    states, last = read_ragged(cell, inputs.flatten(0, 1)[steps.forward], steps, direction)
    expected, last_expected = read_sequence(cell, inputs, mask, direction)
    torch.testing.assert_close(states, expected * mask.unsqueeze(2))
    torch.testing.assert_close(last, last_expected)


def test_dropout_keeps_the_mean_and_follows_the_seed() -> None:
    dropout, ones = Dropout(0.3), torch.ones(400, 501)
    torch.manual_seed(1)
    first = dropout(ones)
    torch.manual_seed(1)
    assert torch.equal(first, dropout(ones))
    assert not torch.equal(first, dropout(ones))
    assert first.mean().item() == pytest.approx(1.0, abs=0.01)
    assert (first == 0).float().mean().item() == pytest.approx(77 / 256, abs=0.005)
    assert first[first != 0].unique().tolist() == pytest.approx([256 / 179])


@pytest.mark.parametrize("kept", [1, 2, 255])
def test_a_mask_keeps_exactly_so_many_of_256_numbers(kept: int) -> None:
    torch.manual_seed(1)
    share = draw_mask(torch.Size([3, 200_001]), kept=kept, device=torch.device("cpu")).double().mean().item()
    assert share == pytest.approx(kept / 256, abs=4 * (kept * (256 - kept)) ** 0.5 / 256 / 600_003**0.5)


def test_maxout_takes_the_larger_of_two_neighbours() -> None:
    maxout = Maxout(input_size=2, size=3, dropout=0.0)
    with torch.no_grad():
        maxout.project.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [2, 0], [3, 0], [0, 0], [-1, -1]]))
        maxout.project.bias.copy_(torch.tensor([0.0, 0, 0, 0, 7, 9]))
    assert maxout(torch.tensor([[[5.0, -4.0]]])).tolist() == [[[5.0, 15.0, 8.0]]]


def test_projections_of_heads_begin_without_bias() -> None:
    sizes = {"size": 6, "memory_size": 4, "heads": 3}
    built = MultiHead(**sizes, score=Part("score", "scaled_dot"), normalise=Part("normalise", "softmax"))
    for layer in (built.query, built.memory, built.output):
        assert not layer.bias.any()


def test_embeddings_that_are_scaled_down_mean_the_same_however_often_one_asks() -> None:
    torch.manual_seed(1)
    embed, tokens = Embed(5, 9), torch.tensor([[4, 0], [1, 1]])
    before, weight = embed(tokens), embed.weight.detach().clone()
    for _ in range(2):
        embed.scale_down()
        torch.testing.assert_close(embed(tokens), before)
        torch.testing.assert_close(embed.weight, nn.Parameter(weight / 3))


def test_positions_that_begin_late_follow_the_formula() -> None:
    """Vaswani et al. 2017, section 3.5, beyond what the table had at first."""
    place, channel = np.arange(400, 403)[:, None], np.arange(3)
    angles = place / 10_000 ** (2 * channel / 6)
    late = Sinusoidal(size=6)(400, 3).numpy()
    np.testing.assert_allclose(late[:, ::2], np.sin(angles), atol=1e-6)
    np.testing.assert_allclose(late[:, 1::2], np.cos(angles), atol=1e-6)


def test_dropout_is_nothing_when_evaluating() -> None:
    ones = torch.ones(10)
    assert Dropout(0.5).eval()(ones) is ones
    assert Dropout(0.0)(ones) is ones


@pytest.mark.parametrize("chunk", [3, 5])  # of 11 rows: three chunks and a rest of two, two chunks and one of one
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_chunked_loss_equals_torchs(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_module, "MAX_LOGIT_ROWS", chunk)
    torch.manual_seed(1)
    features, weight, bias = (torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((11, 5), (7, 5), (7,)))
    targets = torch.randint(0, 7, (11,))
    logits = F.linear(features, weight, bias)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    loss, nll = output_cross_entropy(features, weight, bias, targets, smoothing=smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, reduction="none"))
    mine = torch.autograd.grad(3 * loss, (features, weight, bias))
    theirs = torch.autograd.grad(3 * expected, (features, weight, bias))
    torch.testing.assert_close(mine, theirs)
    assert not nll.requires_grad


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_rows_of_a_chunked_loss_count_as_much_as_their_weights_say(
    smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_module, "MAX_LOGIT_ROWS", 3)
    torch.manual_seed(1)
    features, weight, bias = (torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((11, 5), (7, 5), (7,)))
    targets, counts = torch.randint(0, 7, (11,)), torch.randn(11, dtype=torch.double)
    logits = F.linear(features, weight, bias)
    expected = counts @ F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="none")
    loss, nll = output_cross_entropy(features, weight, bias, targets, smoothing=smoothing, weights=counts)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, reduction="none"))
    mine, theirs = (torch.autograd.grad(each, (features, weight, bias)) for each in (loss, expected))
    torch.testing.assert_close(mine, theirs)


def test_shifted_targets_equal_torchs_soft_ones() -> None:
    torch.manual_seed(1)
    features, weight, bias = (torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((11, 5), (7, 5), (7,)))
    targets, taught = torch.randint(0, 7, (11,)), torch.rand(11, 7, dtype=torch.double).softmax(dim=1)
    loss, _ = output_cross_entropy(features, weight, bias, targets, smoothing=0.1)
    shifted = loss + shift_targets(features, weight, bias, targets, taught, smoothing=0.1)
    expected = F.cross_entropy(F.linear(features, weight, bias), taught, reduction="sum")
    torch.testing.assert_close(shifted, expected)
    mine, theirs = (torch.autograd.grad(each, (features, weight, bias)) for each in (shifted, expected))
    torch.testing.assert_close(mine, theirs)


def test_a_loss_that_nobody_learns_from_computes_no_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    def aim(*_: object) -> None:
        raise AssertionError("gradients were computed")

    monkeypatch.setattr(loss_module, "_subtract_targets", aim)
    features, weight, bias = torch.randn(3, 5), torch.randn(7, 5, requires_grad=True), torch.zeros(7)
    with torch.inference_mode():
        output_cross_entropy(features, weight, bias, torch.tensor([0, 1, 2]))
    with pytest.raises(AssertionError, match="were computed"):
        output_cross_entropy(features, weight, bias, torch.tensor([0, 1, 2]))
