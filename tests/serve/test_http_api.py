"""The API: company changes no answer, and everything that goes wrong is one sentence of JSON."""

import asyncio
import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from served import Client, ask, occupied

from seq2see.explain.occlusion import leave_one_out
from seq2see.runs.decoding import Decoding
from seq2see.runs.prediction_json import describe_prediction
from seq2see.runs.run import Run, load
from seq2see.search.greedy import Greedy
from seq2see.search.sample import Sample
from seq2see.serve import batch_queue as batcher
from seq2see.serve.bounds import Bounds
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.handler import RequestHandler
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError
from seq2see.serve.response_schemas import ExplainResponse, ModelsResponse, PredictResponse
from seq2see.serve.upload import check_image

TEXTS = ["abc", "hgfedcba", "a", "", "cab cab"]
WAYS: list[dict[str, Any]] = [
    {"beam": 1, "max_length": 9},
    {"beam": 3, "max_length": 9, "n_best": 2, "no_repeat": 2, "min_length": 4},
]


async def post(client: Client, path: str, **body: Any) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def strip(output: dict[str, Any]) -> Any:
    """What must be exactly the same, and the numbers that must be nearly so."""
    return output["text"], output["ids"], [strip(other) for other in output["alternatives"]]


def read_events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def ask_all(client: Client, handler: RequestHandler) -> list[tuple[str, dict[str, Any], Any]]:
    """Everything at once, behind something slow, so that it is served together."""
    requests = [(text, way) for way in WAYS for text in TEXTS]
    async with occupied(handler):
        waiting = [asyncio.create_task(post(client, "/v1/predict", text=text, **way)) for text, way in requests]
        while len(handler.batcher.waiting) < len(requests):
            await asyncio.sleep(0.01)
    answers = await asyncio.gather(*waiting)
    return [(text, way, answer["outputs"][0]) for (text, way), answer in zip(requests, answers, strict=True)]


def predict_alone(run: Run, text: str, way: dict[str, Any]) -> dict[str, Any]:
    return dict(describe_prediction(run.predict(text, **way)))


@pytest.mark.parametrize("place", [0, 1])
def test_company_changes_no_answer(folders: list[Path], place: int) -> None:
    run = load(folders[place])

    async def talk(client: Client, handler: RequestHandler) -> Any:
        return await ask_all(client, handler), handler.metrics.batch_size.lines()

    answers, lines = ask([folders[place]], talk)
    assert any('le="1"' in line and int(line.split()[-1]) < len(answers) for line in lines)  # some were together
    for text, way, output in answers:
        alone = predict_alone(run, text, way)
        assert strip(output) == strip(alone)
        assert output["score"] == pytest.approx(alone["score"], abs=1e-5)


@pytest.mark.parametrize("narrow", [True, False])
def test_alone_every_bit_is_the_same(
    folders: list[Path], run: Run, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "NARROW_MARGIN", 1e9 if narrow else 0.0)  # what is narrow is taken again alone

    async def talk(client: Client, handler: RequestHandler) -> Any:
        return await ask_all(client, handler), list(handler.metrics.redecoded.lines())

    answers, [line] = ask([folders[0]], talk, batch_tokens=4096 if narrow else 0)
    assert (int(line.split()[-1]) > 0) == narrow
    for text, way, output in answers:
        assert output == predict_alone(run, text, way)


@pytest.mark.parametrize(
    "way",
    [
        {"beam": 1},
        {"beam": 4, "max_length": 9},
        {"beam": 4, "mbr_power": 1.5, "mbr_samples": 6, "mbr_precision": 0.7},
        {"seed": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("narrow", [1e-4, 1e9])
def test_a_stream_says_the_tokens_of_the_answer(
    folders: list[Path], way: dict[str, Any], narrow: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "NARROW_MARGIN", narrow)

    async def talk(client: Client, handler: RequestHandler) -> Any:
        async with occupied(handler):
            texts = ("fade", "abcabc")
            streams = [asyncio.create_task(client.post("/v1/predict/stream", json={"text": t, **way})) for t in texts]
            while len(handler.batcher.waiting) < 2:
                await asyncio.sleep(0.01)
        answers = await asyncio.gather(*streams)
        plain = [await post(client, "/v1/predict", text=text, **way) for text in texts]
        return [read_events(answer.text) for answer in answers], [each["outputs"][0] for each in plain]

    for events, output in zip(*ask(folders, talk), strict=True):
        assert events[0][0] == "start"
        tokens = [data for name, data in events if name == "token"]
        assert [token["id"] for token in tokens] == output["ids"]
        assert [token["text"] for token in tokens] == [token["text"] for token in output["tokens"]]
        last, data = events[-1]
        assert (last, data["output"]["text"]) == ("done", output["text"])


def test_sampling_is_as_seeded_whoever_else_samples(folders: list[Path], run: Run) -> None:
    samples = [{"seed": 7, "temperature": 0.8}, {"seed": 8, "temperature": 1.5}]

    async def talk(client: Client, handler: RequestHandler) -> Any:
        async with occupied(handler):
            asked = [asyncio.create_task(post(client, "/v1/predict", text="fade", **each)) for each in samples]
            while len(handler.batcher.waiting) < 2:
                await asyncio.sleep(0.01)
        return await asyncio.gather(*asked)

    texts = [answer["outputs"][0]["text"] for answer in ask(folders[:1], talk)]
    assert texts == [run.predict("fade", search=Sample(**each)).text for each in samples]


def test_explaining_is_replaying(folders: list[Path]) -> None:
    run = load(folders[1])
    body = {"model": "heads", "text": "fade", "beam": 3, "top_tokens": 4, "history": True}
    answer = ask(folders, lambda client, _: post(client, "/v1/explain", **body))
    prediction = run.predict("fade", beam=3)
    trace = json.loads(prediction.attention.to_json())
    assert {key: answer[key] for key in trace} == trace
    for row, token in zip(answer["top_tokens"], answer["target_tokens"], strict=True):
        assert [one["confidence"] for one in row] == sorted((one["confidence"] for one in row), reverse=True)
        assert row[0]["confidence"] >= token["confidence"] - 1e-6
    nodes, best = answer["history"]["nodes"], answer["history"]["best"]
    assert nodes[best]["score"] == pytest.approx(prediction.score)


def test_changes_and_prefixes_of_an_explanation(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        body = {"model": "heads", "text": "fade", "beam": 1, "max_length": 6}
        plain = await post(client, "/v1/explain", **body)
        name = plain["maps"][-1]["name"]
        same = await post(client, "/v1/explain", **body, interventions=[{"map": name}])
        off = await post(client, "/v1/explain", **body, interventions=[{"map": name, "heads": [2], "weights": "none"}])
        forced = await post(client, "/v1/explain", **body, prefix_ids=[plain["ids"][0], 9])
        given = await post(client, "/v1/explain", **body, target="edaf")
        return plain, same, off, forced, given

    plain, same, off, forced, given = ask(folders, talk)
    assert same == plain
    assert not any(weight for row in off["maps"][-1]["weights"][1] for weight in row)
    assert forced["ids"][:2] == [plain["ids"][0], 9]
    assert given["target"] == "edaf"


def test_a_target_of_unknown_tokens_is_refused(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        return await client.post("/v1/explain", json={"text": "fade", "target": "fa☃"})

    answer = ask(folders, talk)
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        "target must have known tokens only; got '☃'; change it.",
    )


def test_words_are_left_out(folders: list[Path], run: Run) -> None:
    answer = ask(folders, lambda client, _: post(client, "/v1/explain", text="abc de", beam=1, leave_one_out=True))
    prediction = run.predict("abc de", beam=1)
    drops = leave_one_out(run.task, run.model, "abc de", prediction, [(0, 3), (4, 6)])
    assert [(each["start"], each["end"]) for each in answer["drops"]] == [(0, 3), (4, 6)]
    assert [each["drop"] for each in answer["drops"]] == pytest.approx(drops.tolist(), abs=1e-5)
    assert answer["agreement"]["count"] == 2
    assert sum(each["weight"] for each in answer["drops"]) <= 1.0001


WRONG: list[tuple[int, str, dict[str, Any]]] = [
    (422, "did you mean 'beam'", {"text": "a", "baem": 3}),
    (422, "beam must be at most 16", {"text": "a", "beam": 10**6}),
    (422, "mbr_samples must be at most 64", {"text": "a", "beam": 2, "mbr_power": 1, "mbr_samples": 65}),
    (409, "mbr_samples must go with minimum Bayes risk", {"text": "a", "beam": 2, "mbr_samples": 6}),
    (409, "n_best must be at most", {"text": "a", "beam": 2, "n_best": 3}),
    (422, "max_length must be at most", {"text": "a", "max_length": 10**9}),
    (422, "must be a valid string", {"text": 3}),
    (422, "must be a valid string", {"texts": ["a", None]}),
    (422, "give text or texts; got nothing", {}),
    (422, "got text and texts", {"text": "a", "texts": ["b"]}),
    (409, "reads text", {"image": "aGVsbG8="}),
    (422, "1 to 64 texts", {"texts": []}),
    (422, "characters", {"text": "a" * 6000}),
    (409, "one prefix", {"texts": ["a", "b"], "prefix": ["a"]}),
    (409, "known tokens", {"text": "a", "prefix": "ß"}),
    (409, "ids of a prefix", {"text": "a", "prefix_ids": [10**6]}),
    (422, "temperature must be greater", {"text": "a", "temperature": 1e-300}),
    (409, "seed must go with sampling; got beam", {"text": "a", "beam": 2, "seed": 1}),
    (409, "dictionary goes with replace_unknown", {"text": "a", "dictionary": {"a": "b"}}),
    (409, "min_length must be at most", {"text": "a", "min_length": 5, "max_length": 2}),
    (404, "did you mean 'rnn'", {"text": "a", "model": "rnm"}),
]


def test_a_whole_number_may_be_written_with_a_point(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        asked = [{"text": "abc", "beam": beam, "max_length": 5, "n_best": 2} for beam in (4, 4.0)]
        return [(await client.post("/v1/predict", json=body)).json() for body in (*asked, {"text": "abc", "beam": 4.5})]

    whole, pointed, half = ask(folders, talk)
    assert whole == pointed
    assert "beam" in half["error"]


def test_every_mistake_is_one_sentence(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for status, words, body in WRONG:
            answer = await client.post("/v1/predict", json=body)
            assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
            assert list(answer.json()) == ["error"]

    ask(folders, talk)


BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"NaN",
    b'{"text": NaN}',
    b'{"text": "\\ud800"}',
    b"\xff\xfe",
    b'"text"',
    b"[" * 9000,
]
BODIES += [b'{"beam": 1e999, "text": "a"}', b'{"beam": ' + b"9" * 5000 + b', "text": "a"}', b'{"text": "\\u0000"}']
BODIES += [
    json.dumps({"text": "a", "interventions": [{"map": "x" * 300}]}).encode(),
    b'{"text": "a", "top_p": 0}',
    b'{"text": "a", "dictionary": {"a": 3}}',
]


def test_malformed_bodies_never_end_in_a_traceback(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path in ("/v1/predict", "/v1/predict/stream", "/v1/explain"):
            for body in BODIES:
                answer = await client.post(path, content=body, headers={"content-type": "application/json"})
                assert answer.status_code in (200, 422), (path, body[:40], answer.text)
                if answer.status_code != 200:
                    assert list(answer.json()) == ["error"]
            for kind in ("text/plain", "multipart/form-data", "multipart/form-data; boundary=x"):
                answer = await client.post(path, content=b"--x\r\nbroken", headers={"content-type": kind})
                assert answer.status_code in (400, 415, 422)
                assert list(answer.json()) == ["error"]

    ask(folders, talk)


def test_other_paths_and_methods_are_sentences_too(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for method, path, status in (("GET", "/nothing", 404), ("GET", "/v1/predict", 405), ("PUT", "/health", 405)):
            answer = await client.request(method, path)
            assert (answer.status_code, list(answer.json())) == (status, ["error"])
        schema = (await client.get("/openapi.json")).json()
        assert "beam" in json.dumps(schema["paths"]["/v1/predict"])
        assert "$ref" not in json.dumps(schema["paths"]["/v1/explain"]["post"]["requestBody"])

    ask(folders, talk)


def test_answers_are_as_documented(folders: list[Path], captions: Path, labels: Path) -> None:
    image = base64.b64encode(make_image()).decode()

    async def talk(client: Client, handler: RequestHandler) -> None:
        for name, source in (
            ("heads", {"text": "fade"}),
            ("labels", {"text": "A. B."}),
            ("captions", {"image": image}),
        ):
            body = {"model": name, **source} | ({} if name == "labels" else {"beam": 2, "max_length": 4})
            PredictResponse.model_validate(await post(client, "/v1/predict", **body, n_best=2, attention="full"))
            ExplainResponse.model_validate(
                await post(client, "/v1/explain", **body, top_tokens=2, history=True, leave_one_out=True)
            )
        ModelsResponse.model_validate((await client.get("/v1/models")).json())
        document = (await client.get("/openapi.json")).json()
        assert "401" not in json.dumps(document)  # no token is wanted here
        asked = document["paths"]["/v1/predict"]["post"]
        assert (
            asked["requestBody"]["content"]["application/json"]["schema"]["properties"]["n_best"]["anyOf"][0]["maximum"]
            == 16
        )
        for status, _, body in WRONG:
            answer = await client.post("/v1/predict", json=body)
            assert answer.headers["content-type"] in asked["responses"][str(status)]["content"]
        manual = await client.get("/docs")
        assert all(f"{path}</h2>" in manual.text for path in document["paths"])
        assert "src=" not in manual.text  # it needs nothing from elsewhere

    ask([*folders, captions, labels], talk)


def test_a_mistake_of_ours_is_a_sentence(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("seq2see.serve.handler.describe_prediction", fail)
    monkeypatch.setattr("seq2see.serve.batch_queue.log.error", lambda *_, **__: None)
    monkeypatch.setattr("seq2see.serve.middleware.log.exception", lambda *_: None)

    async def talk(client: Client, handler: RequestHandler) -> None:
        answer = await client.post("/v1/predict", json={"text": "a"})
        assert (answer.status_code, list(answer.json())) == (500, ["error"])
        assert "secret" not in answer.text
        events = read_events((await client.post("/v1/predict/stream", json={"text": "a"})).text)
        assert events[-1][0] == "error"

    ask(folders, talk)


def test_one_wrong_text_does_not_spoil_the_others(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        async with occupied(handler):
            right = asyncio.create_task(client.post("/v1/predict", json={"text": "abc"}))
            wrong = asyncio.create_task(client.post("/v1/predict", json={"text": "abc", "prefix": "ß"}))
            while len(handler.batcher.waiting) < 2:
                await asyncio.sleep(0.01)
        return (await right).status_code, (await wrong).status_code

    assert ask(folders, talk) == (200, 409)


def make_image(size: tuple[int, int] = (4, 4)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, "PNG")
    return file.getvalue()


def test_images_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_image(make_image(), Bounds()) == "PNG"
    for data in (
        b"",
        b"GIF89a",
        make_image((64, 64))[:60],
        b"<svg></svg>",
        b"II*\0" + b"\xff" * 40,
        b"P6 9 9 255\n1",
    ):
        with pytest.raises(RequestError, match="whole image"):
            check_image(data, Bounds())
    with pytest.raises(RequestError, match="pixels"):
        check_image(make_image((300, 300)), Bounds(pixels=1000))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # what Pillow itself refuses
    with pytest.raises(RequestError, match="pixels"):
        check_image(make_image((300, 300)), Bounds(pixels=1000))


def test_a_text_run_refuses_a_image_in_a_form(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        sent = await client.post("/v1/predict", files={"image": ("a.png", make_image())})
        coded = await client.post("/v1/predict", json={"image": base64.b64encode(make_image()).decode()})
        return sent.json(), coded.json()

    for answer in ask(folders, talk):
        assert "reads text" in answer["error"]


def test_who_leaves_while_it_is_decoded_is_let_go(run: Run) -> None:
    worker = batcher.Batcher(queue=4, budget=0, metrics=ServerMetrics())
    seen = []
    job = DecodeJob(lambda _: None, run, Decoding(Greedy(), replace(run.rules, min_length=900)), text="abc")

    def listen(contenders: Any) -> None:
        seen.append(contenders)
        worker.cancel([job])

    job.listen = listen
    worker.start()
    worker.submit([job])
    worker.drain()
    worker._thread.join(20)
    assert len(seen) == 1
    assert worker.idle
