"""Changes to attention do what they say, where they say, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from seq2see.core.errors import AttentionError
from seq2see.core.interventions import Intervention, changing, list_interventions
from seq2see.core.registry import Part
from seq2see.core.trace import tracing
from seq2see.nn.multihead import MultiHead

torch.manual_seed(3)
MODEL = MultiHead(
    size=6, memory_size=6, heads=3, score=Part("score", "scaled_dot"), normalise=Part("normalise", "softmax")
)
STATES = torch.randn(2, 5, 6)
MASK = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None, :]


def look(*changes: Intervention) -> tuple[torch.Tensor, torch.Tensor]:
    """The output of the model and its weights, under changes."""
    with torch.no_grad(), changing(MODEL, changes):
        plain = MODEL(STATES, MODEL.project_memory(STATES), MASK)
        with tracing(MODEL) as trace:
            traced = MODEL(STATES, MODEL.project_memory(STATES), MASK)
    torch.testing.assert_close(plain, traced)
    return plain, trace.weights("attend")


def test_no_change_is_the_very_same() -> None:
    with torch.no_grad():
        before = MODEL(STATES, MODEL.project_memory(STATES), MASK)
        with changing(MODEL, ()):
            assert torch.equal(MODEL(STATES, MODEL.project_memory(STATES), MASK), before)
        assert torch.equal(MODEL(STATES, MODEL.project_memory(STATES), MASK), before)
    assert torch.equal(look(Intervention("attend"))[1], look()[1])


def test_a_head_that_is_switched_off_adds_nothing() -> None:
    output, weights = look(Intervention("attend", (2,), weights="none"))
    own = look()[1]
    assert torch.equal(weights[:, 1], torch.zeros_like(own[:, 1]))
    assert torch.equal(weights[:, [0, 2]], own[:, [0, 2]])
    with torch.no_grad():  # by hand: the same sum over heads without the second
        values = MODEL.project_memory(STATES).values
        context = (weights @ values).transpose(1, 2).reshape(STATES.shape)
        torch.testing.assert_close(output, MODEL.output(context))


def test_uniform_weights_are_equal_over_what_may_be_attended_to() -> None:
    weights = look(Intervention("attend", weights="uniform"))[1]
    assert torch.equal(weights[0], torch.full((3, 5, 5), 1 / 5))
    assert torch.equal(weights[1, :, :, :3], torch.full((3, 5, 3), 1 / 3))
    assert not weights[1, :, :, 3:].any()


def test_temperature_divides_the_scores() -> None:
    own = look()[1]
    half = look(Intervention("attend", (1, 3), temperature=0.5))[1]
    squares = own**2 / (own**2).sum(dim=-1, keepdim=True)  # softmax(2 x) is softmax(x)^2, summing to one again
    torch.testing.assert_close(half[:, [0, 2]], squares[:, [0, 2]])
    assert torch.equal(half[:, 1], own[:, 1])


@pytest.mark.parametrize("change", [Intervention("atend"), Intervention("attend", (4,), weights="none")])
def test_what_is_not_there_cannot_be_changed(change: Intervention) -> None:
    with pytest.raises(AttentionError, match="attend"):
        look(change)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weights": "foo"}, r"weights must be one of own, none, uniform; got 'foo'\.$"),
        ({"heads": 2}, r"heads must be a tuple of numbers from 1, such as \(2,\), or None; got 2\.$"),
        ({"heads": (0,)}, r"numbers from 1.*got \(0,\)\.$"),
        ({"heads": ("1",)}, "numbers from 1"),
        ({"temperature": -1.0}, r"a temperature must be a number from 1e-06; got -1\.0\.$"),
        ({"temperature": float("nan")}, "got nan"),
        ({"temperature": "cold"}, "got 'cold'"),
    ],
    ids=str,
)
def test_what_no_intervention_can_be_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    change = Intervention("attend")
    vars(change).update(options)  # past the check of types that the tests run under
    with pytest.raises(AttentionError, match=sentence):
        change.__post_init__()


def test_interventions_are_listed_by_the_names_of_the_model_that_is_asked() -> None:
    model = torch.nn.ModuleDict({"one": MODEL, "other": torch.nn.Linear(1, 1)})
    change = Intervention("attend", (2,), weights="none")
    assert list_interventions(model) == ()
    with changing(MODEL, [change]):
        assert list_interventions(MODEL) == (change,)
        assert list_interventions(model) == (replace(change, name="one.attend"),)
        with changing(model["other"], ()):  # another model: the interventions of this one go on
            assert list_interventions(MODEL) == (change,)
        with changing(model, ()):
            assert list_interventions(MODEL) == ()
    assert list_interventions(MODEL) == ()
