"""A server on a device of its own answers as one on the CPU."""

from pathlib import Path
from typing import Any

import pytest
from served import Client, ask

from seq2see.serve.handler import RequestHandler
from seq2see.testing import pretend_device


async def talk(client: Client, _: RequestHandler) -> list[Any]:
    """Texts of a batch with attention, and the probability drops of one of them."""
    found = []
    for path, body in (
        ("/v1/predict", {"texts": ["abc", "hgfedcba", ""], "beam": 3, "n_best": 2, "attention": "full"}),
        ("/v1/predict", {"text": "cab", "temperature": 0.8, "seed": 4}),
        ("/v1/explain", {"text": "cab"}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
    return found


def flatten(value: Any) -> list[Any]:
    """All texts and numbers in nested lists and dictionaries; times are left out."""
    if isinstance(value, dict):
        return [each for key, part in value.items() if key != "milliseconds" for each in flatten(part)]
    return [each for part in value for each in flatten(part)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("place", [0, 1])
def test_a_server_on_another_device_answers_the_same(folders: list[Path], place: int) -> None:
    expected = flatten(ask([folders[place]], talk, registry={"device": "cpu"}))
    found = flatten(ask([folders[place]], talk, registry={"device": pretend_device().type}))
    assert [each for each in found if isinstance(each, str)] == [each for each in expected if isinstance(each, str)]
    numbers = [[each for each in one if isinstance(each, float)] for one in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-4)
