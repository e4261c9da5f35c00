"""Every registered score and normaliser obeys the laws, and computes its paper's equation."""

import numpy as np
import pytest
import torch

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.registry import names, part
from seq2see.core.trace import tracing
from seq2see.nn.attend import MAX_STEP_QUERIES, MIN_STEP_ROWS, Attend
from seq2see.nn.normalise import Softmax, Sparsemax
from seq2see.nn.score import Additive, Cosine, Dot, General, Location, ScaledDot
from seq2see.testing import check_normaliser, check_score


@pytest.mark.parametrize("kind", names("score"))
def test_score_obeys_the_laws(kind: str, device: torch.device) -> None:
    check_score(kind, device)


@pytest.mark.parametrize("kind", names("normalise"))
def test_normaliser_obeys_the_laws(kind: str, device: torch.device) -> None:
    check_normaliser(kind, device)


# one query and three keys that a person can multiply
QUERY, KEYS = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [0.0, -1.0], [2.0, -3.0]])


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same weights in every run."""
    torch.manual_seed(1)


def score(module: torch.nn.Module) -> np.ndarray:
    query = torch.tensor(QUERY, dtype=torch.float32).view(1, 1, 1, 2)
    keys = torch.tensor(KEYS, dtype=torch.float32).view(1, 1, 3, 2)
    return module(query, module.prepare(keys)).detach().numpy().reshape(3)


def test_dot_is_the_product() -> None:
    np.testing.assert_allclose(score(Dot(query_size=2, key_size=2)), [11, -2, -4])


def test_scaled_dot_is_divided_by_the_root_of_the_width() -> None:
    np.testing.assert_allclose(
        score(ScaledDot(query_size=2, key_size=2)), np.array([11, -2, -4]) / np.sqrt(2), rtol=1e-6
    )


def test_general_is_the_same_whichever_side_it_projects() -> None:
    early, late = (General(query_size=2, key_size=2, project=side) for side in ("keys", "query"))
    late.project.weight.data = early.project.weight.data.T
    np.testing.assert_allclose(score(late), score(early), rtol=1e-5, atol=1e-6)
    check_score({"kind": "general", "project": "query", "scaled": True})
    check_score({"kind": "general", "temperature": 0.5})


def test_general_is_scaled_on_request() -> None:
    plain, scaled = (General(query_size=2, key_size=2, scaled=scaled) for scaled in (False, True))
    scaled.load_state_dict(plain.state_dict())
    np.testing.assert_allclose(score(scaled), score(plain) / np.sqrt(2), rtol=1e-5, atol=1e-6)
    sharp = General(query_size=2, key_size=2, scaled=True, temperature=0.5)
    sharp.load_state_dict(plain.state_dict())
    np.testing.assert_allclose(score(sharp), 2 * score(scaled), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("side", "width"), [("keys", 2), ("query", 3)])
def test_general_compares_two_widths_and_is_scaled_by_that_of_its_products(side: str, width: int) -> None:
    module = General(query_size=2, key_size=3, project=side, scaled=True, temperature=0.5)
    keys, weight = np.array([[3.0, 4.0, 1.0], [0.0, -1.0, 2.0]]), module.project.weight.detach().numpy()
    expected = (keys @ (weight.T if side == "keys" else weight) @ QUERY) / np.sqrt(width) / 0.5
    query, prepared = (torch.tensor(each, dtype=torch.float32).view(1, 1, -1, each.shape[-1]) for each in (QUERY, keys))
    found = module(query, module.prepare(prepared)).detach().numpy().reshape(2)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_additive_is_v_tanh_wq_uk() -> None:
    module = Additive(query_size=2, key_size=2, size=3)
    w, u, b, v = (p.detach().numpy() for p in (module.query.weight, module.key.weight, module.key.bias, module.vector))
    np.testing.assert_allclose(score(module), np.tanh(w @ QUERY + KEYS @ u.T + b) @ v, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("given", "size"), [({}, 3), ({"size": 4}, 4)])
def test_the_additive_score_is_as_wide_as_its_queries_if_nobody_says_otherwise(
    given: dict[str, int], size: int
) -> None:
    assert Additive(query_size=3, key_size=5, **given).prepare(torch.zeros(1, 1, 7, 5)).shape == (1, 1, 7, size)


def test_cosine_is_the_angle_times_the_strength() -> None:
    expected = 5 * KEYS @ QUERY / np.linalg.norm(KEYS, axis=1) / np.linalg.norm(QUERY)
    np.testing.assert_allclose(score(Cosine(query_size=2, key_size=2, strength=5.0)), expected, rtol=1e-5, atol=1e-6)


def test_location_says_how_far_it_can_see() -> None:
    module = Location(query_size=2, max_positions=3)
    query, keys = torch.ones(1, 1, 1, 2), torch.zeros(1, 1, 4, 2)
    with pytest.raises(TokenError, match="weights for 3 source positions; got a source of 4"):
        module(query, keys)
    weights = module.eval()(query, keys).softmax(dim=-1)  # one long source must not stop a whole prediction
    torch.testing.assert_close(weights[..., :3], module(query, keys[:, :, :3]).softmax(dim=-1))
    assert weights[0, 0, 0, 3] == 0


@pytest.mark.parametrize("kind", ["dot", "scaled_dot", "cosine"])
def test_scores_that_compare_directly_need_one_size(kind: str) -> None:
    with pytest.raises(ConfigError, match="one size; got 2 and 3"):
        part("score", kind)(query_size=2, key_size=3)


class Uneven(Dot):
    """A score that a query's place changes."""

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return super().forward(query, keys) * torch.arange(query.shape[2]).unsqueeze(1)

    def fused_scale(self, size: int) -> float | None:
        return None


def test_a_broken_law_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.nn.score.Dot", Uneven)
    with pytest.raises(AssertionError, match="broken law: permuting queries permutes the output"):
        check_score("dot")


def test_softmax_by_hand() -> None:
    scores = torch.log(torch.tensor([1.0, 3.0, 4.0])).view(1, 1, 1, 3)
    weights = Softmax()(scores, torch.tensor([True, True, False]).view(1, 1, 1, 3), torch.zeros(1, 1, 1, 1))
    np.testing.assert_allclose(weights.flatten().numpy(), [0.25, 0.75, 0.0], rtol=1e-6)


def test_sparsemax_by_hand() -> None:
    """Of 1.0, 0.6 and 0 the last is too low: t = (1.6 - 1) / 2; a score of 9 that may not be seen changes nothing."""
    scores, mask = torch.tensor([0.6, 9.0, 1.0, 0.0]).view(1, 1, 1, 4), torch.tensor([True, False, True, True])
    weights = Sparsemax()(scores, mask.view(1, 1, 1, 4), torch.zeros(1, 1, 1, 1))
    np.testing.assert_allclose(weights.flatten().numpy(), [0.3, 0.0, 0.7, 0.0], rtol=1e-6)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    """Held against a search by halving for the threshold, with scores of every size."""
    torch.manual_seed(1)
    scores = torch.randn(5, 1, 3, 11, dtype=torch.double) * torch.tensor([0.01, 0.3, 1.0, 10.0, 1e6]).view(5, 1, 1, 1)
    low, high = scores.amin(dim=-1, keepdim=True) - 1, scores.amax(dim=-1, keepdim=True)
    for _ in range(200):
        middle = (low + high) / 2
        heavy = (scores - middle).clamp(min=0).sum(dim=-1, keepdim=True) > 1
        low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    weights = Sparsemax()(scores, torch.ones(1, 1, 1, 11, dtype=torch.bool), scores[..., :1])
    torch.testing.assert_close(weights, (scores - low).clamp(min=0), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_a_step_of_many_sources_is_the_fused_kernel(masked: bool) -> None:
    """However many sources are decoded together, they get what one alone gets; who must not look sees zeros."""
    attend = Attend(score=ScaledDot(query_size=4, key_size=4), normalise=Softmax())
    random = torch.Generator().manual_seed(1)
    query, keys, values = (torch.randn(MIN_STEP_ROWS, 2, n, 4, generator=random) for n in (3, 5, 5))
    mask = torch.rand(MIN_STEP_ROWS, 1, 1, 5, generator=random) < 0.6 if masked else None
    fused = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    with torch.no_grad():
        together = attend(query, keys, values, mask)
        alone = attend(query[:1], keys[:1], values[:1], None if mask is None else mask[:1])
    torch.testing.assert_close(together, fused, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(together[:1], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("queries", [MAX_STEP_QUERIES, MAX_STEP_QUERIES + 1])
@pytest.mark.parametrize("sources", [MIN_STEP_ROWS // 2 - 1, MIN_STEP_ROWS // 2])
def test_nobody_sees_a_later_place_however_many_look(sources: int, queries: int) -> None:
    attend = Attend(score=ScaledDot(query_size=4, key_size=4), normalise=Softmax())
    query, keys, values = torch.randn(3, sources, 2, queries, 4)
    with torch.no_grad():
        context = attend(query, keys, values, causal=True)
        with tracing(attend) as trace:
            traced = attend(query, keys, values, causal=True)
    scores = np.einsum("bhtd,bhsd->bhts", query.numpy(), keys.numpy()) / 2
    weights = np.tril(np.exp(scores))
    expected = weights / weights.sum(axis=-1, keepdims=True) @ values.numpy()
    np.testing.assert_allclose(context.numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(traced.numpy(), expected, rtol=1e-4, atol=1e-5)
    seen = weights / weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(trace.weights(trace.names[0]).numpy(), seen, rtol=1e-4, atol=1e-5)
