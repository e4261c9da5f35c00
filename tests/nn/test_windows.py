"""Local attention: the paper's equations, the same as global attention where it must be, and never more work."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from seq2see.core.errors import ConfigError
from seq2see.core.interventions import Intervention, changing
from seq2see.core.registry import names, part
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend
from seq2see.nn.normalise import Softmax
from seq2see.testing import check_window

LENGTHS = [11, 6, 2, 0]


@pytest.mark.parametrize("kind", names("window"))
def test_window_obeys_the_laws(kind: str, device: torch.device) -> None:
    check_window(kind, device)


def build(score: str, window: Any = None) -> Attend:
    torch.manual_seed(3)
    sizes = {"query_size": 5, "key_size": 5}
    built = part("window", window)(**sizes) if window is not None else None
    return Attend(score=part("score", score)(**sizes), normalise=Softmax(), window=built).double().eval()


def draw(queries: int = 13) -> dict[str, Tensor]:
    """Three heads; sources of 11, 6, 2 and 0 tokens; more queries than keys, in no special order."""
    torch.manual_seed(4)
    keys, values = (torch.randn(4, 3, 11, size, dtype=torch.double) for size in (5, 7))
    mask = (torch.arange(11) < torch.tensor(LENGTHS).unsqueeze(1))[:, None, None, :]
    query = torch.randn(4, 3, queries, 5, dtype=torch.double)
    positions = torch.stack([torch.randperm(queries) for _ in LENGTHS])
    return {"query": query, "keys": keys, "values": values, "mask": mask, "positions": positions}


def look(attend: Attend, given: dict[str, Tensor]) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad(), tracing(attend) as trace:
        context = attend(**{**given, "keys": attend.prepare(given["keys"])})
    return context.numpy(), trace.weights(trace.names[0]).numpy()


def predict_centres(attend: Attend, given: dict[str, Tensor], source: int) -> np.ndarray:
    """Eq. 9: p = S sigmoid(v . tanh(W h))."""
    weight, vector = (p.detach().numpy() for p in (attend.window.project.weight, attend.window.vector))
    hidden = np.tanh(given["query"][source].numpy() @ weight.T)
    return LENGTHS[source] / (1 + np.exp(-hidden @ vector))


@pytest.mark.parametrize("kind", ["local-m", "local-p"])
@pytest.mark.parametrize("score", [name for name in names("score") if name != "location"])
@pytest.mark.parametrize("radius", [1, 2, 20])
def test_local_attention_is_its_equations(kind: str, score: str, radius: int) -> None:
    """Section 3.2, eq. 7-10, over all positions at once with what is outside the window masked."""
    attend, given = build(score, {"kind": kind, "radius": radius}), draw()
    context, weights = look(attend, given)
    with torch.no_grad():
        scores = attend.score(given["query"], attend.prepare(given["keys"])).numpy()
    for source, length in enumerate(LENGTHS):
        steps = np.broadcast_to(given["positions"][source].numpy(), (3, 13))
        centres = steps if kind == "local-m" else predict_centres(attend, given, source)
        s = np.arange(11)
        inside = (np.abs(s - np.round(centres)[..., None]) <= radius) & (s < length)
        e = np.where(inside, np.exp(scores[source]), 0)
        a = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)
        if kind == "local-p":
            a = a * np.exp(-((s - centres[..., None]) ** 2) / (2 * (radius / 2) ** 2))
        np.testing.assert_allclose(weights[source], a, atol=1e-12)
        np.testing.assert_allclose(context[source], a @ given["values"][source].numpy(), atol=1e-12)


@pytest.mark.parametrize("kind", ["local-m", "local-p"])
def test_uniform_weights_are_equal_inside_the_window(kind: str) -> None:
    attend, given = build("dot", {"kind": kind, "radius": 2}), draw()
    with changing(attend, [Intervention("", heads=(2,), weights="uniform")]):
        weights = look(attend, given)[1]
    own = look(attend, given)[1]
    inside = own > 0
    equal = inside / np.maximum(inside.sum(axis=-1, keepdims=True), 1)
    np.testing.assert_allclose(weights[:, 1], equal[:, 1], atol=1e-12)
    np.testing.assert_array_equal(weights[:, [0, 2]], own[:, [0, 2]])


def test_a_temperature_divides_the_scores_inside_the_window() -> None:
    attend, given = build("dot", {"kind": "local-m", "radius": 2}), draw()
    own = look(attend, given)[1]
    with changing(attend, [Intervention("", heads=(3,), temperature=0.5)]):
        weights = look(attend, given)[1]
    squares = own**2 / np.maximum((own**2).sum(axis=-1, keepdims=True), 1e-300)  # softmax(2 x) is softmax(x)^2, summed
    np.testing.assert_allclose(weights[:, 2], squares[:, 2], atol=1e-12)
    np.testing.assert_array_equal(weights[:, :2], own[:, :2])


@pytest.mark.parametrize("score", [name for name in names("score") if name != "location"])
def test_a_window_as_wide_as_the_sentence_is_global_attention(score: str) -> None:
    given = draw(queries=11)
    local, everywhere = build(score, {"kind": "local-m", "radius": 11}), build(score)
    np.testing.assert_allclose(look(local, given)[0], look(everywhere, given)[0], atol=1e-12)
    np.testing.assert_allclose(look(local, given)[1], look(everywhere, given)[1], atol=1e-12)


def test_the_centre_learns_through_the_gaussian() -> None:
    attend, given = build("dot", {"kind": "local-p", "radius": 2}), draw()
    attend(**given).sum().backward()
    assert attend.window.vector.grad.abs().sum() > 0
    assert all(parameter.grad.isfinite().all() for parameter in attend.parameters())


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation makes; views make none."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor) and not func.is_view:
            self.elements = max(self.elements, made.numel())
        return made


@pytest.mark.parametrize("kind", names("window"))
@pytest.mark.parametrize("score", ["general", "additive", "cosine"])
def test_nothing_grows_with_the_sentence(kind: str, score: str) -> None:
    attend = build(score, {"kind": kind, "radius": 2})
    largest = []
    for length in (100, 10_000):
        keys = attend.prepare(torch.randn(1, 1, length, 5, dtype=torch.double))
        mask, query = torch.ones(1, 1, 1, length, dtype=torch.bool), torch.randn(1, 1, 3, 5, dtype=torch.double)
        with torch.no_grad(), Largest() as mode:
            attend(query, keys, keys, mask, torch.tensor([[0, 50, 99]]))
        largest.append(mode.elements)
    assert largest[0] == largest[1] <= 3 * 5 * 5


def test_a_window_and_a_score_of_positions_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="a window needs a score that compares contents"):
        build("location", "local-m")
