"""What an answer says about an output: its words and what they look at, and nothing about our own files."""

import base64
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from served import Client, ask

from seq2see.serve.handler import RequestHandler


@pytest.mark.parametrize(("model", "heads"), [("rnn", 1), ("heads", 2)])
def test_words_are_weighed_as_their_tokens_are(folders: list[Path], model: str, heads: int) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        body = {"model": model, "text": "abc de", "prefix": "badec", "max_length": 9}
        answers = [await client.post("/v1/predict", json={**body, "attention": way}) for way in ("words", "full")]
        return [answer.json()["outputs"][0] for answer in answers]

    output, full = ask(folders, talk)
    words, trace = output["attention"], full["attention"]
    assert output["text"].startswith("badec")
    assert words["source_words"] == [[0, 3], [4, 6]]
    assert words["target_words"] == [[place, place + 1] for place in range(len(output["text"]))]  # no spaces: letters
    [weights] = [each["weights"] for each in trace["maps"] if each["name"] == words["map"].partition(",")[0]]
    tokens = np.mean(weights, axis=0)  # over heads
    assert len(weights) == heads
    for (start, end), row in zip(words["target_words"], words["weights"], strict=True):
        mine = [place for place, token in enumerate(full["tokens"]) if start <= token["start"] < token["end"] <= end]
        looks = tokens[mine].mean(axis=0)
        assert row == pytest.approx([looks[:3].sum(), looks[4:6].sum()], abs=1e-6)


def test_no_output_of_a_image_names_a_file_of_ours(captions: Path) -> None:
    file = io.BytesIO()
    Image.new("RGB", (20, 24), "red").save(file, "PNG")
    request = {"image": base64.b64encode(file.getvalue()).decode(), "beam": 3, "n_best": 3, "attention": "full"}

    async def talk(client: Client, handler: RequestHandler) -> Any:
        streamed = await client.post("/v1/predict/stream", json=request)
        return (await client.post("/v1/predict", json=request)).json(), streamed.text

    answer, streamed = ask([captions], talk)
    [output] = answer["outputs"]
    assert len(output["alternatives"]) == 2
    for each in (output, *output["alternatives"]):
        assert each["source"] is None
        assert not {"source", "image"} & set(each["attention"])
    for said in (json.dumps(answer), streamed):
        assert tempfile.gettempdir() not in said
