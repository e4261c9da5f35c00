"""What all steps of a walk share has the gradient it would have without sharing."""

import pytest
import torch
from torch import Tensor

from seq2see.core.registry import names, part
from seq2see.nn.attend import Attend
from seq2see.nn.shared_gradient import share_gradients, shares_gradients, weighted_sum


def walk(attend: Attend, memory: Tensor, *, shared: bool) -> list[Tensor]:
    """Gradients after three steps, each of which asks for what the one before has found, beside another use."""
    torch.manual_seed(1)
    memory = memory.clone().requires_grad_()
    query = torch.randn(2, 1, 1, 4, dtype=torch.float64, requires_grad=True)
    keys, values = attend.prepare(memory), memory * 2
    if shared:
        keys, values = share_gradients(keys), share_gradients(values)
    found = query
    for _ in range(3):
        found = attend(found, keys, values, torch.ones(2, 1, 1, 5, dtype=torch.bool))
    loss = found.square().sum() + values.sum()
    learned = [memory, query, *(p for p in attend.parameters() if p.requires_grad)]
    return list(torch.autograd.grad(loss, learned, allow_unused=True))


@pytest.mark.parametrize("name", names("score"))
def test_sharing_changes_no_gradient(name: str) -> None:
    torch.manual_seed(2)
    score = part("score", name)(query_size=4, key_size=4)
    attend = Attend(score=score, normalise=part("normalise", "softmax")()).double()
    memory = torch.randn(2, 1, 5, 4, dtype=torch.float64)
    for mine, expected in zip(*(walk(attend, memory, shared=shared) for shared in (True, False)), strict=True):
        torch.testing.assert_close(mine, expected)


def test_a_second_way_back_through_the_same_steps_is_the_first() -> None:
    torch.manual_seed(3)
    values = torch.randn(2, 1, 5, 4, requires_grad=True)
    rows = torch.rand(3, 2, 1, 1, 5)
    shared = share_gradients(values)
    loss = sum((weighted_sum(row, shared).square().sum() for row in rows), torch.tensor(0.0))
    expected = sum(2 * row.transpose(2, 3) @ (row @ values.detach()) for row in rows)
    for _ in range(2):
        (gradient,) = torch.autograd.grad(loss, values, retain_graph=True)
        torch.testing.assert_close(gradient, expected)


def test_what_learns_nothing_is_left_alone() -> None:
    memory = torch.ones(1, 1, 2, 2)
    assert share_gradients(memory) is memory
    with torch.no_grad():
        assert not shares_gradients(share_gradients(memory.requires_grad_()))
