"""Laws of attention: what every score and every normaliser must keep."""

from typing import Any

import torch
from torch import Tensor

from seq2see.core.registry import part
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend

# every dimension another number, so that a swapped axis cannot pass
SOURCES, HEADS, QUERIES, KEYS, WIDTH, VALUES = 3, 2, 4, 5, 7, 6


def check_score(spec: Any) -> None:
    """A score obeys the laws together with softmax."""
    attend = _attend(spec, "softmax")
    _check_weights(attend)
    _check_fused(attend)
    _check_queries_are_independent(attend)
    if attend.score.content:
        _check_key_order(attend)
    _check_gradients(attend)


def check_normaliser(spec: Any) -> None:
    """A normaliser obeys the laws together with the scaled dot score."""
    attend = _attend("scaled_dot", spec)
    _check_weights(attend)
    _check_fused(attend)
    _check_gradients(attend)


def _attend(score: Any, normalise: Any) -> Attend:
    torch.manual_seed(5)
    sizes = {"query_size": WIDTH, "key_size": WIDTH}
    return Attend(score=part("score", score)(**sizes), normalise=part("normalise", normalise)()).double().eval()


def _inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    query = torch.randn(SOURCES, HEADS, QUERIES, WIDTH, dtype=torch.double)
    keys = torch.randn(SOURCES, HEADS, KEYS, WIDTH, dtype=torch.double)
    values = torch.randn(SOURCES, HEADS, KEYS, VALUES, dtype=torch.double)
    mask = torch.arange(KEYS) < torch.tensor([KEYS, 3, 0]).unsqueeze(1)  # full, short, nothing to attend to
    return query, keys, values, mask[:, None, None, :]


def _weigh(attend: Attend, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    with tracing(attend) as trace:
        context = attend(query, attend.prepare(keys), values, mask)
    return context, trace.weights(trace.names[0])


def _check_weights(attend: Attend) -> None:
    """Masked keys weigh exactly 0, rows sum to 1, an empty row gives zeros and finite gradients."""
    query, keys, values, mask = _inputs()
    query.requires_grad_()
    context, weights = _weigh(attend, query, keys, values, mask)
    assert weights.shape == (SOURCES, HEADS, QUERIES, KEYS), weights.shape
    assert (weights >= 0).all(), "a weight is negative"
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all(), "a masked key has a weight"
    torch.testing.assert_close(weights[:2].sum(dim=-1), torch.ones_like(weights[:2, ..., 0]))
    assert (weights[2] == 0).all(), "a row with nothing to attend to has weights"
    assert (context[2] == 0).all(), "a row with nothing to attend to gives something"
    context.sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all(), "a gradient is not finite"
    garbage = keys.masked_fill(~mask.squeeze(2).unsqueeze(3), 1e3)
    torch.testing.assert_close(_weigh(attend, query, garbage, values, mask)[1], weights)


def _check_fused(attend: Attend) -> None:
    """Nobody looking changes nothing."""
    query, keys, values, mask = _inputs()
    looked, _ = _weigh(attend, query, keys, values, mask)
    torch.testing.assert_close(attend(query, attend.prepare(keys), values, mask), looked)


def _check_queries_are_independent(attend: Attend) -> None:
    """Permuting queries permutes the output."""
    query, keys, values, mask = _inputs()
    order = torch.randperm(QUERIES)
    straight, _ = _weigh(attend, query, keys, values, mask)
    permuted, _ = _weigh(attend, query[:, :, order], keys, values, mask)
    torch.testing.assert_close(permuted, straight[:, :, order])


def _check_key_order(attend: Attend) -> None:
    """Permuting keys together with their values and mask changes nothing."""
    query, keys, values, mask = _inputs()
    order = torch.randperm(KEYS)
    straight, _ = _weigh(attend, query, keys, values, mask)
    permuted, _ = _weigh(attend, query, keys[:, :, order], values[:, :, order], mask[..., order])
    torch.testing.assert_close(permuted, straight)


def _check_gradients(attend: Attend) -> None:
    """Analytic gradients equal numeric ones."""
    query, keys, values, mask = (tensor[:2] for tensor in _inputs())
    inputs = [query[:, :, :2].requires_grad_(), keys.requires_grad_(), values.requires_grad_()]
    torch.autograd.gradcheck(lambda q, k, v: _weigh(attend, q, k, v, mask)[0], inputs)
