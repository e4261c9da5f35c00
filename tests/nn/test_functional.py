"""Attention on plain tensors."""

import numpy as np
import pytest
import torch

import seq2see
from seq2see.core.errors import AttentionError, ConfigError
from seq2see.nn.score import Additive

IDS = torch.eye(4)
PEOPLE = torch.tensor([[34.0, 1.70], [27.0, 1.82], [61.0, 1.65], [45.0, 1.77]])


def test_a_sharp_lookup_by_orthogonal_keys_is_exact() -> None:
    found = seq2see.attend(IDS[[2, 0]], IDS, PEOPLE, score="dot", temperature=0.01)
    assert torch.equal(found, PEOPLE[[2, 0]])


def test_a_flat_lookup_is_the_mean() -> None:
    found, weights = seq2see.attend(IDS[:1], IDS, PEOPLE, temperature=1e6, weights=True)
    torch.testing.assert_close(found, PEOPLE.mean(dim=0, keepdim=True))
    torch.testing.assert_close(weights, torch.full((1, 4), 0.25))


@pytest.mark.parametrize("before", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("score", ["scaled_dot", {"kind": "cosine", "strength": 3.0}], ids=str)
def test_it_is_the_same_with_and_without_weights_in_all_dimensions(before: tuple[int, ...], score: object) -> None:
    torch.manual_seed(1)
    query, keys, values = (torch.randn(*before, *shape) for shape in ((5, 4), (7, 4), (7, 6)))
    mask = torch.rand(5, 7) < 0.7
    context, weights = seq2see.attend(query, keys, values, score=score, mask=mask, temperature=0.5, weights=True)
    torch.testing.assert_close(seq2see.attend(query, keys, values, score=score, mask=mask, temperature=0.5), context)
    torch.testing.assert_close(weights @ values, context)
    assert (weights[..., ~mask] == 0).all()


@pytest.mark.parametrize("width", [4, 6])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("score", "root"), [("dot", 1), ("scaled_dot", 2)])
def test_the_temperature_divides_the_scores_whatever_the_width_of_values(
    score: str, root: int, temperature: float, width: int
) -> None:
    torch.manual_seed(1)
    query, keys, values = (torch.randn(2, 3, *shape) for shape in ((5, 4), (7, 4), (7, width)))
    scores = query.numpy() @ keys.numpy().swapaxes(2, 3) / root / temperature
    expected = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    found = seq2see.attend(query, keys, values, score=score, temperature=temperature)
    np.testing.assert_allclose(found.numpy(), expected @ values.numpy(), rtol=1e-4, atol=1e-5)
    _, weights = seq2see.attend(query, keys, values, score=score, temperature=temperature, weights=True)
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_a_score_with_weights_of_its_own_is_given_as_a_module() -> None:
    with pytest.raises(ConfigError, match=r"weights that must be learned.* seq2see\.nn\.score\.Additive"):
        seq2see.attend(IDS, IDS, PEOPLE, score="additive")
    score = Additive(query_size=4, key_size=4)
    seq2see.attend(IDS, IDS, PEOPLE, score=score).sum().backward()
    assert score.vector.grad is not None


def test_arrays_and_lists_are_taken_as_they_are() -> None:
    ids, people, mask = IDS.numpy(), PEOPLE.double().numpy(), np.array([True, True, False, True])
    found = seq2see.attend(ids[[2, 0]], ids, people, score="dot", temperature=0.01)
    assert found.dtype == torch.float64  # the wider type
    np.testing.assert_array_equal(found.numpy(), people[[2, 0]])
    found, weights = seq2see.attend([[1, 0]], [[1, 0], [0, 1]], [[2], [4]], weights=True)  # whole numbers
    torch.testing.assert_close(found, 2 + 2 * weights[:, 1:])
    expected = seq2see.attend(IDS, IDS, PEOPLE, mask=torch.tensor(mask))
    assert torch.equal(seq2see.attend(IDS, IDS, PEOPLE, mask=mask), expected)
    assert torch.equal(seq2see.attend(IDS, IDS, PEOPLE, mask=mask.tolist()), expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"keys": IDS[0]}, "must all have 2, 3 or 4 dimensions"),
        ({"values": PEOPLE[:3]}, "one value for each key"),
        ({"mask": torch.ones(4, 4)}, "must be bool"),
        ({"mask": torch.ones(3, 4, dtype=torch.bool)}, r"fit the shape \[4, 4\]; got bool of shape \[3, 4\]"),
        ({"temperature": 0.0}, "above 0"),
        (
            {"keys": np.array(["a", "b"])},
            r"^keys must be a tensor, an array or a nested list of numbers; got ndarray\.$",
        ),
        ({"values": [[1.0], [2.0, 3.0]]}, r"^values must be .* got list\.$"),
        ({"query": IDS + 1j}, r"must be real numbers; got complex64 and float32 and float32; take real parts\.$"),
        (
            {"query": IDS.double(), "score": Additive(query_size=4, key_size=4)},
            r"query, keys and values, float64; got a score of float32; convert one of them with \.to\(\)\.$",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_one_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(AttentionError, match=sentence):
        seq2see.attend(**{"query": IDS, "keys": IDS, "values": PEOPLE, **arguments})
