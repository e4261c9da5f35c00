"""Laws of attention, which every score, every normaliser and every window obeys."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from seq2see.core.registry import Part, part, trust_named
from seq2see.core.sampled_choices import choosing
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend
from seq2see.nn.window import Window

Device = torch.device
Spec = str | Mapping[str, object] | Part[Any]  # a name, {kind: name, option: value}, or a part

CPU = torch.device("cpu")
# every axis has another size, so that a swapped axis cannot pass
SOURCES, HEADS, QUERIES, KEYS, WIDTH, VALUES = 3, 2, 4, 5, 7, 6
WIDTHS = (VALUES, WIDTH)  # of values: torch's fused kernel is for those that are as wide as keys


def check_score(spec: Spec, device: Device = CPU) -> None:
    """Check that a score obeys the laws together with softmax.

    Masked keys weigh exactly 0, rows of weights sum to 1, a row without any key gives zeros and finite gradients, a
    trace changes nothing, permuting queries permutes the output, permuting keys with their values changes nothing (for
    a score of contents), and analytic gradients equal numeric ones.

    Args:
        spec: the score, as a configuration names it, or as a part.
        device: where it computes, such as `pretend_device()`.

    Raises:
        AssertionError: if a law is broken.
    """
    attend = _attend(spec, "softmax").to(device)
    _check_device(attend, device)
    _check_sums(attend, device)
    _check_empty_rows(attend, device)
    _check_masking(attend, device)
    _check_tracing(attend, device)
    _check_queries_are_independent(attend, device)
    if attend.score.content:
        _check_key_order(attend, device)
    _check_gradients(attend, device)


def check_normaliser(spec: Spec, device: Device = CPU) -> None:
    """Check that a normaliser obeys the laws together with the scaled dot score.

    They are those of masks, sums, empty rows, traces and gradients. One that samples must also draw in training only,
    from torch's generator and under the mask, and its loss must have the gradients that numbers give.

    Args:
        spec: the normaliser, as a configuration names it, or as a part.
        device: where it computes, such as `pretend_device()`.

    Raises:
        AssertionError: if a law is broken.
    """
    attend = _attend("scaled_dot", spec).to(device)
    _check_device(attend, device)
    _check_sums(attend, device)
    _check_masking(attend, device)
    _check_tracing(attend, device)
    if attend.normalise.samples:
        _check_sampling(attend, device)
        _check_choices(attend, device)
    else:
        _check_empty_rows(attend, device)
        _check_gradients(attend, device)


def check_window(spec: Spec, device: Device = CPU) -> None:
    """Check that a window obeys the laws with the scaled dot score and softmax, narrow or wider than the source.

    They are those of masks, padding, empty rows, traces, permuted queries and gradients; and a row must have no more
    keys than the window, all of them neighbours.

    Args:
        spec: the window, as a configuration names it, or as a part; its option `radius` is replaced.
        device: where it computes, such as `pretend_device()`.

    Raises:
        AssertionError: if a law is broken.
    """
    for radius in (KEYS, 1):
        trust_named(spec)
        chosen: Part[Window] = part("window", spec)
        attend = _attend("scaled_dot", "softmax", replace(chosen, options={**chosen.options, "radius": radius})).to(
            device
        )
        _check_device(attend, device)
        _check_width(attend, device, 2 * radius + 1)
        _check_padding(attend, device)
        _check_empty_rows(attend, device)
        _check_masking(attend, device)
        _check_tracing(attend, device)
        _check_queries_are_independent(attend, device)
    _check_gradients(attend, device)


def _attend(score: Spec, normalise: Spec, window: Spec | None = None) -> Attend:
    torch.manual_seed(5)
    trust_named([score, normalise, window])
    sizes = {"query_size": WIDTH, "key_size": WIDTH}
    return (
        Attend(
            score=part("score", score)(**sizes),
            normalise=part("normalise", normalise)(),
            window=part("window", window)(**sizes) if window is not None else None,
        )
        .double()
        .eval()
    )


def _inputs(device: Device, width: int = VALUES) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    query = torch.randn(SOURCES, HEADS, QUERIES, WIDTH, dtype=torch.double)
    keys = torch.randn(SOURCES, HEADS, KEYS, WIDTH, dtype=torch.double)
    values = torch.randn(SOURCES, HEADS, KEYS, width, dtype=torch.double)
    mask = torch.arange(KEYS) < torch.tensor([KEYS, 3, 0]).unsqueeze(1)  # full, short, nothing to attend to
    return query.to(device), keys.to(device), values.to(device), mask[:, None, None, :].to(device)


def _positions(query: Tensor) -> Tensor:
    return torch.arange(query.shape[2], device=query.device).expand(query.shape[0], -1)


def _weigh(
    attend: Attend, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, positions: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    positions = _positions(query) if positions is None else positions
    with tracing(attend) as trace:
        context = attend(query, attend.prepare(keys), values, mask, positions)
    return context, trace.weights(trace.names[0])


def _same(found: Tensor, expected: Tensor, *, law: str) -> None:
    torch.testing.assert_close(found, expected, msg=lambda difference: f"broken law: {law}. {difference}")


def _check_device(attend: Attend, device: Device) -> None:
    """Check that the context and the weights are those of the CPU."""
    query, *others = _inputs(CPU)
    here = _weigh(attend, *(each.to(device) for each in (query, *others)))
    for mine, other in zip(here, _weigh(deepcopy(attend).cpu(), query, *others), strict=True):
        _same(mine.cpu(), other, law="a device changes nothing")


def _check_sums(attend: Attend, device: Device) -> None:
    """Check that rows sum to 1."""
    _, weights = _weigh(attend, *_inputs(device))
    _same(weights[:2].sum(dim=-1), torch.ones_like(weights[:2, ..., 0]), law="rows of weights sum to 1")


def _check_width(attend: Attend, device: Device, width: int) -> None:
    """Check that a row has no more keys than the window, all of them neighbours, and sums to at most 1."""
    _, weights = _weigh(attend, *_inputs(device))
    assert (weights.sum(dim=-1) <= 1 + 1e-9).all(), "a row of weights sums to more than 1"
    places = torch.arange(KEYS, device=weights.device).expand_as(weights)
    last = places.masked_fill(weights == 0, -1).amax(dim=-1)
    first = places.masked_fill(weights == 0, KEYS).amin(dim=-1)
    assert (last - first < width).all(), "a window is wider than it says"


def _check_padding(attend: Attend, device: Device) -> None:
    """Check that more masked keys at the end change nothing."""
    query, keys, values, mask = _inputs(device)
    context, weights = _weigh(attend, query, keys, values, mask)
    longer_keys, longer_values = (torch.cat([states, torch.randn_like(states)], dim=2) for states in (keys, values))
    longer_mask = torch.cat([mask, torch.zeros_like(mask)], dim=3)
    again, again_weights = _weigh(attend, query, longer_keys, longer_values, longer_mask)
    _same(again, context, law="more masked keys change nothing")
    _same(again_weights[..., :KEYS], weights, law="more masked keys change nothing")


def _check_masking(attend: Attend, device: Device) -> None:
    """Check that masked keys have weight 0 exactly, and that a row without any key gives zeros."""
    query, keys, values, mask = _inputs(device)
    context, weights = _weigh(attend, query, keys, values, mask)
    assert weights.shape == (SOURCES, HEADS, QUERIES, KEYS), weights.shape
    assert (weights >= 0).all(), "a weight is negative"
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all(), "a masked key has a weight"
    assert (weights[2] == 0).all(), "a row without any key has weights"
    assert (context[2] == 0).all(), "a row without any key gives a context"
    garbage = keys.masked_fill(~mask.squeeze(2).unsqueeze(3), 1e3)
    _same(_weigh(attend, query, garbage, values, mask)[1], weights, law="what masked keys hold changes nothing")


def _check_empty_rows(attend: Attend, device: Device) -> None:
    """Check that a row without any key has finite gradients, with a trace and without."""
    for width in WIDTHS:
        *inputs, mask = _inputs(device, width)
        query, keys, values = (states.requires_grad_() for states in inputs)
        traced = _weigh(attend, query, keys, values, mask)[0]
        untraced = attend(query, attend.prepare(keys), values, mask, _positions(query))
        (traced.square().sum() + untraced.square().sum()).backward()
        for states in inputs:
            assert states.grad is None or states.grad.isfinite().all(), "a gradient is not finite"


def _check_tracing(attend: Attend, device: Device) -> None:
    """Check that a trace changes nothing: without one a fused kernel may compute the context."""
    for width in WIDTHS:
        query, keys, values, mask = _inputs(device, width)
        traced, _ = _weigh(attend, query, keys, values, mask)
        _same(
            attend(query, attend.prepare(keys), values, mask, _positions(query)),
            traced,
            law="a trace changes nothing",
        )


def _check_queries_are_independent(attend: Attend, device: Device) -> None:
    """Check that permuting queries permutes the output."""
    query, keys, values, mask = _inputs(device)
    order = torch.randperm(QUERIES).to(device)
    straight, _ = _weigh(attend, query, keys, values, mask)
    permuted, _ = _weigh(attend, query[:, :, order], keys, values, mask, _positions(query)[:, order])
    _same(permuted, straight[:, :, order], law="permuting queries permutes the output")


def _check_key_order(attend: Attend, device: Device) -> None:
    """Check that permuting keys together with their values and mask changes nothing."""
    query, keys, values, mask = _inputs(device)
    order = torch.randperm(KEYS).to(device)
    straight, _ = _weigh(attend, query, keys, values, mask)
    permuted, _ = _weigh(attend, query, keys[:, :, order], values[:, :, order], mask[..., order])
    _same(permuted, straight, law="permuting keys with their values changes nothing")


def _check_gradients(attend: Attend, device: Device) -> None:
    """Check that analytic gradients equal numeric ones, for two queries and a source with a masked end."""
    query, keys, values, mask = (tensor[1:2, :1] for tensor in _inputs(device))
    inputs = [each.cpu().requires_grad_() for each in (query[:, :, :2], keys, values)]

    def weigh(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return _weigh(attend, q.to(device), k.to(device), v.to(device), mask)[0].cpu()

    torch.autograd.gradcheck(weigh, inputs)


def _check_sampling(attend: Attend, device: Device) -> None:
    """Check that training samples from torch's generator under the mask, and that nothing is sampled otherwise."""
    inputs = _inputs(device)
    before = torch.get_rng_state()
    _weigh(attend, *inputs)
    assert torch.equal(torch.get_rng_state(), before), "something is drawn outside of training"
    attend.train()
    drawn = []
    for seed in (1, 1, 2, 3, 4):
        torch.manual_seed(seed)
        with choosing():
            drawn.append(_weigh(attend, *inputs)[1])
            _check_masking_of(drawn[-1], inputs[3])
    attend.eval()
    assert torch.equal(drawn[0], drawn[1]), "the same seed draws something else"
    assert any(not torch.equal(drawn[0], other) for other in drawn[2:]), "another seed draws the same"


def _check_masking_of(weights: Tensor, mask: Tensor) -> None:
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all(), "a masked key was drawn"
    _same(
        weights.sum(dim=-1), mask.any(dim=-1).to(weights.dtype).expand(weights.shape[:3]), law="what is drawn sums to 1"
    )


def _check_choices(attend: Attend, device: Device) -> None:
    """Check the gradients of the loss of sampled choices, also where there was nothing to choose."""
    query, keys, values, mask = _inputs(device)
    real = torch.tensor([True, True, True, False], device=device).expand(SOURCES, QUERIES)
    chooser = deepcopy(attend).train()

    def loss(q: Tensor, k: Tensor) -> Tensor:
        torch.manual_seed(7)
        fresh = deepcopy(chooser)  # a loss may move an average
        with choosing() as choices:
            fresh(q.to(device), fresh.prepare(k.to(device)), values, mask)
        rewards = torch.linspace(-2, 0, int(real.sum()), dtype=torch.double, device=device)
        return choices.loss(rewards, real).cpu()

    torch.autograd.gradcheck(loss, [each.cpu().requires_grad_() for each in (query, keys)], fast_mode=True)
