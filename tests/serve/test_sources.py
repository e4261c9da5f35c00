"""Images and documents are served as texts are, and what is sent is never taken for a path."""

import asyncio
import base64
import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from served import Client, ask

from seq2see.data.formats.image_file import FORMATS
from seq2see.data.sentence_splitter import join_sentences
from seq2see.runs.run import load
from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.upload import check_image


def test_a_image_comes_as_a_file_or_as_base64(captions: Path, tmp_path: Path) -> None:
    Image.new("RGB", (20, 24), "red").save(tmp_path / "red.png")
    data = (tmp_path / "red.png").read_bytes()

    async def talk(client: Client, handler: RequestHandler) -> Any:
        request = {"beam": 2, "attention": "full"}
        form = {"files": {"image": ("red.png", data)}, "data": {"request": json.dumps(request)}}
        sent = await client.post("/v1/predict", **form)
        coded = await client.post("/v1/predict", json={**request, "image": base64.b64encode(data).decode()})
        seen = await client.post("/v1/explain", json={"beam": 2, "image": base64.b64encode(data).decode()})
        streamed = await client.post("/v1/predict/stream", **form)
        return sent.json(), coded.json(), seen.json(), streamed.text

    sent, coded, seen, streamed = ask([captions], talk)
    prediction = load(captions).predict(str(tmp_path / "red.png"), beam=2)
    for answer in (sent, coded):
        [output] = answer["outputs"]
        assert (output["text"], output["score"]) == (prediction.text, prediction.score)
        assert output["attention"]["maps"] == prediction.attention.to_dict()["maps"]
        assert output["source"] is None
        assert "source" not in output["attention"]
    assert (seen["target"], seen["source"]) == (prediction.text, "image")
    assert seen["image"].startswith("data:image/")
    assert "event: done" in streamed
    assert "/tmp" not in json.dumps([sent, coded, seen]) + streamed


@pytest.mark.parametrize("kind", FORMATS)
def test_every_kind_of_image_that_is_trained_on_is_served(captions: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"green.{kind.lower()}"
    Image.new("RGB", (20, 24), "green").save(file, kind)

    async def talk(client: Client, handler: RequestHandler) -> Any:
        return await client.post("/v1/predict", files={"image": (file.name, file.read_bytes())})

    answer = ask([captions], talk)
    assert answer.status_code == 200, answer.text
    assert answer.json()["outputs"][0]["text"] == load(captions).predict(str(file)).text


def test_nobody_waits_while_a_image_is_looked_at(captions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, done = threading.Event(), threading.Event()

    def look(data: bytes, bounds: Bounds) -> str:
        begun.set()
        assert done.wait(10)
        return check_image(data, bounds)

    monkeypatch.setattr("seq2see.serve.upload.check_image", look)
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")

    async def talk(client: Client, handler: RequestHandler) -> Any:
        asked = asyncio.create_task(client.post("/v1/predict", files={"image": ("a.png", file.getvalue())}))
        await asyncio.to_thread(begun.wait, 10)
        alive = await client.get("/health")
        done.set()
        return alive.status_code, (await asked).status_code

    assert ask([captions], talk) == (200, 200)


def test_a_text_is_never_taken_for_the_path_of_a_image(captions: Path, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")

    async def talk(client: Client, handler: RequestHandler) -> Any:
        return [
            (await client.post("/v1/predict", json={field: str(tmp_path / "secret.png")}))
            for field in ("text", "image")
        ]

    for answer, status in zip(ask([captions], talk), (409, 422), strict=True):
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_documents_get_labels(labels: Path) -> None:
    text = "It rains. The gold is real. A dog runs by."

    async def talk(client: Client, handler: RequestHandler) -> Any:
        asked = await client.post("/v1/predict", json={"document": text, "attention": "full"})
        seen = await client.post("/v1/explain", json={"text": text, "top_tokens": 3, "history": True})
        wrong = await client.post("/v1/explain", json={"text": text, "target": "good"})
        blank = await client.post("/v1/explain", json={"document": "", "leave_one_out": True})
        return asked.json(), seen.json(), wrong.json(), blank.json()

    asked, seen, wrong, blank = ask([labels], talk)
    prediction = load(labels).predict(text)
    [output] = asked["outputs"]
    assert (output["text"], output["probabilities"]) == (prediction.text, prediction.probabilities)
    assert seen["label"] == seen["target"] == prediction.text
    assert seen["sentences"] == output["attention"]["sentences"]
    assert "chooses labels" in wrong["error"]
    assert (blank["target"], blank["drops"]) == ("", [])


def test_a_document_may_come_as_its_sentences(labels: Path) -> None:
    sentences = ["It rains", "The gold is real, e.g. here. Really", "A dog runs by."]

    async def talk(client: Client, handler: RequestHandler) -> Any:
        asked = await client.post("/v1/predict", json={"document": sentences, "attention": "full"})
        seen = await client.post("/v1/explain", json={"document": sentences, "leave_one_out": True})
        long = [await client.post("/v1/predict", json={"document": each}) for each in (["a" * 6000], ["a" * 600] * 9)]
        other = await client.post("/v1/predict", json={"texts": sentences})
        return asked.json()["outputs"], seen.json(), [each.status_code for each in long], other.json()["outputs"]

    [output], seen, long, others = ask([labels], talk)
    assert output["probabilities"] == load(labels).predict(join_sentences(sentences)).probabilities
    for source, trace in ((output["source"], output["attention"]), (seen["source"], seen)):
        cut = [source[each["start"] : each["end"]] for each in trace["sentences"]]
        assert cut == sentences
    assert output["source"] == "\n".join([*sentences, ""])
    assert long == [422, 409]
    assert len(others) == 3  # texts are documents of their own


WISHES: list[dict[str, Any]] = [
    {"beam": 4},
    {"prefix": "go"},
    {"prefix_ids": [5]},
    {"seed": 1},
    {"length_penalty": 0.5},
    {"max_length": 4, "ban": ["bad"]},
    {"replace_unknown": True},
]


@pytest.mark.parametrize("wishes", WISHES, ids=str)
def test_what_means_nothing_to_labels_is_refused(labels: Path, wishes: dict[str, Any]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        paths = ("/v1/predict", "/v1/predict/stream", "/v1/explain")
        return [await client.post(path, json={"text": "It rains.", **wishes}) for path in paths]

    sentence = f"this run chooses labels and writes nothing; without effect: {', '.join(wishes)}; leave that out."
    for answer in ask([labels], talk):
        assert (answer.status_code, answer.json()) == (409, {"error": sentence})


def test_as_many_labels_come_as_are_asked_for(labels: Path) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        return (await client.post("/v1/predict", json={"text": "It rains.", "n_best": 2})).json()

    [output] = ask([labels], talk)["outputs"]
    assert {output["text"], *(other["text"] for other in output["alternatives"])} == {"good", "bad"}
