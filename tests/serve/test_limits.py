"""Who may ask, how much, and what happens when there is too much or somebody goes."""

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from served import Client, ask, occupied

from seq2see.core.registry import part
from seq2see.models.seq2seq import build_seq2seq
from seq2see.runs.run import load
from seq2see.serve.application import make_app
from seq2see.serve.bounds import Bounds
from seq2see.serve.decoding_cost import count_heads
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.prometheus_metrics import Counter, Histogram


def test_a_full_queue_says_when_to_come_back(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        async with occupied(handler):
            first = asyncio.create_task(client.post("/v1/predict", json={"texts": ["a", "b"]}))
            while len(handler.batcher.waiting) < 2:
                await asyncio.sleep(0.01)
            answer = await client.post("/v1/predict", json={"text": "c"})
            assert answer.status_code == 429
            assert int(answer.headers["retry-after"]) >= 1
        assert (await first).status_code == 200

    ask(folders, talk, bounds=Bounds(queue=2, seconds=300.0))


def test_a_request_that_takes_too_long_is_told_so_and_makes_room(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        await handler.registry.find(None)  # loading takes its time, too
        async with occupied(handler):
            answer = await client.post("/v1/predict", json={"text": "c"})
            assert answer.status_code == 504
            stream = await client.post("/v1/predict/stream", json={"text": "c"})
            assert "event: error" in stream.text
            assert not handler.batcher.waiting

    ask(folders, talk, bounds=Bounds(seconds=0.2))


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/predict/stream", "/v1/explain"])
def test_who_hangs_up_makes_room(folders: list[Path], path: str) -> None:
    async def happen() -> None:
        app, handler = make_app(ModelRegistry(folders))
        handler.batcher.start()
        gone, sent = asyncio.Event(), []
        body = [{"type": "http.request", "body": json.dumps({"text": "abc"}).encode(), "more_body": False}]

        async def receive() -> Any:
            if body:
                return body.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "POST", "path": path, "headers": headers}
        scope |= {"query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1", "client": ("::1", 1)}
        async with occupied(handler):
            visit = asyncio.create_task(app(scope, receive, send))
            while not handler.batcher.waiting:
                await asyncio.sleep(0.01)
            gone.set()
            await asyncio.wait_for(visit, 10)
            assert not handler.batcher.waiting
        assert not any(b"done" in message.get("body", b"") for message in sent)
        handler.batcher.close()

    asyncio.run(happen())


def test_bodies_are_bounded_whatever_their_header_says(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        async def iterate(pieces: list[bytes]) -> Any:  # no length in the header
            for piece in pieces:
                yield piece

        exactly = b'{"text": "a"}'.ljust(500)
        for content in (exactly, iterate([exactly[:300], exactly[300:]])):
            answer = await client.post("/v1/predict", content=content, headers={"content-type": "application/json"})
            assert answer.status_code == 200, answer.text
        for content in (b" " * 1000, exactly + b" ", iterate([exactly, b" "]), iterate([b" " * 100] * 10)):
            answer = await client.post("/v1/predict", content=content, headers={"content-type": "application/json"})
            assert (answer.status_code, list(answer.json())) == (413, ["error"])

    ask(folders, talk, bounds=Bounds(body=500, seconds=300.0))


def test_attention_is_bounded_before_it_is_computed(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path, body in (
            ("explain", {}),
            ("predict", {"attention": "full"}),
            ("predict/stream", {"attention": "full"}),
        ):
            answer = await client.post(f"/v1/{path}", json={"model": "heads", "text": "a" * 60, **body})
            assert (answer.status_code, "source tokens of this run" in answer.text) == (409, True)
        request = {"model": "heads", "text": "abc", "max_length": 9}
        assert (await client.post("/v1/explain", json=request)).status_code == 200

    ask(folders, talk, bounds=Bounds(weights=12 * 100, seconds=300.0))


def test_what_leaving_out_reads_is_bounded(folders: list[Path], labels: Path) -> None:
    asked = [{"model": "rnn", "text": "ab " * 300, "max_length": 3}, {"model": "labels", "text": "it rains " * 450}]

    async def talk(client: Client, handler: RequestHandler) -> Any:
        plain = [(await client.post("/v1/explain", json=body)).status_code for body in asked]
        return plain, [await client.post("/v1/explain", json={**body, "leave_one_out": True}) for body in asked]

    plain, left = ask([*folders, labels], talk)
    assert plain == [200, 200]
    for answer, most in zip(left, ("50,000", "500,000"), strict=True):
        assert (answer.status_code, f"leave_one_out reads up to {most} tokens" in answer.text) == (409, True)


def test_heads_are_counted_wherever_they_are(folders: list[Path]) -> None:
    recurrent, transformer = (load(folder) for folder in folders)
    small = {"kind": "ntm", "size": 4, "embedding_size": 2, "heads": 3}
    parts = {
        "encoder": part("encoder", {**small, "width": 2}),
        "decoder": part("decoder", {**small, "initial_state": "copy"}),
    }
    machine = build_seq2seq(**parts, source_sizes={"vocabulary": 7}, target_vocabulary=7)
    # one; two layers with three attentions of two heads; three heads that read on each side, and one that writes
    counts = [count_heads(run) for run in (recurrent, transformer, replace(recurrent, model=machine))]
    assert counts == [1, 12, 7]


def test_outputs_are_bounded_too(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path, body, status, said in (
            ("explain", {"target": "a" * 21}, 422, "21 in target"),
            ("predict", {"prefix": "a" * 21}, 422, "21 in prefix"),
            ("predict", {"prefix_ids": [5] * 1001}, 422, "1,001"),
            ("explain", {"target": "a" * 12}, 409, "10 written tokens"),
            ("explain", {"min_length": 12}, 409, "10 written tokens"),
            ("predict", {"min_length": 12, "attention": "full"}, 409, "10 written tokens"),
        ):
            answer = await client.post(f"/v1/{path}", json={"model": "heads", "text": "abc", **body})
            assert (answer.status_code, said in answer.text) == (status, True), (body, answer.text)

    ask(folders, talk, bounds=Bounds(weights=12 * 100, text=20, seconds=300.0))


def test_bounds_themselves_are_within_bounds(folders: list[Path], labels: Path) -> None:
    asked: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"beam": 3}, {"beam": 4}),
        ({"beam": 3, "n_best": 3}, {"beam": 3, "n_best": 4}),
        ({"beam": 2, "mbr_power": 1, "mbr_samples": 5}, {"beam": 2, "mbr_power": 1, "mbr_samples": 6}),
        ({"max_length": 7}, {"max_length": 8}),
        ({"min_length": 6, "max_length": 7}, {"min_length": 7, "max_length": 7}),
        ({"text": "a" * 9}, {"text": "a" * 10}),
        ({"text": None, "texts": ["a", "b"]}, {"text": None, "texts": ["a", "b", "c"]}),
        ({"prefix": "a" * 9}, {"prefix": "a" * 10}),
        ({"prefix_ids": [5] * 7}, {"prefix_ids": [5] * 8}),
    ]

    async def talk(client: Client, handler: RequestHandler) -> None:
        for bodies in asked:
            for body, status in zip(bodies, (200, 422), strict=True):
                answer = await client.post("/v1/predict", json={"model": "rnn", "text": "a", **body})
                assert answer.status_code == status, (body, answer.text)
        documents = (["a" * 8], 200), (["a" * 9], 409), ([""] * 3, 200), ([""] * 4, 422)  # a break behind each
        for sentences, status in documents:
            answer = await client.post("/v1/predict", json={"model": "labels", "document": sentences})
            assert answer.status_code == status, answer.text

    bounds = Bounds(text=9, texts=2, sentences=3, beam=3, samples=5, length=7, seconds=300.0)
    ask([*folders, labels], talk, bounds=bounds)


@pytest.mark.parametrize(
    ("budget", "beam", "batches"), [(0, 1, 5), (7, 1, 5), (8, 1, 3), (11, 1, 3), (12, 1, 2), (20, 1, 1), (16, 2, 3)]
)
def test_no_batch_costs_more_than_its_budget(folders: list[Path], budget: int, beam: int, batches: int) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        async with occupied(handler):  # which is a batch of its own
            body = {"texts": ["abc", "def", "bad", "cab", "fed"], "beam": beam, "max_length": 4}  # 4 tokens each
            waiting = asyncio.create_task(client.post("/v1/predict", json=body))
            while len(handler.batcher.waiting) < 5:
                await asyncio.sleep(0.01)
        assert (await waiting).status_code == 200
        return handler.metrics.batch_size.lines()

    *_, total, count = ask(folders[:1], talk, batch_tokens=budget)
    assert [line.split()[-1] for line in (total, count)] == ["6", str(batches + 1)]


def test_a_token_is_asked_for_where_it_matters(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path, status in (("/v1/models", 401), ("/metrics", 401), ("/health", 200), ("/ready", 200)):
            assert (await client.get(path)).status_code == status
        for token, status in (("Bearer secret", 200), ("Bearer secre", 401), ("secre", 401), ("Bearer ä", 401)):
            header = {"authorization": token.encode("latin-1")}
            answer = await client.get("/v1/models", headers=header)  # type: ignore[arg-type]
            assert answer.status_code == status

    ask(folders, talk, tokens=["secret"])


def test_runs_appear_and_broken_ones_are_named(folders: list[Path], tmp_path: Path) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        assert (await client.get("/ready")).status_code == 503
        shutil.copytree(folders[0], tmp_path / "new")
        shutil.copytree(folders[0], tmp_path / "old")
        (tmp_path / "old" / "config.yaml").write_text("half")
        models = {each["name"]: each for each in (await client.get("/v1/models")).json()["models"]}
        assert set(models) == {"new", "old"}
        assert "cut short" in models["old"]["error"]
        assert (await client.post("/v1/predict", json={"model": "new", "text": "abc"})).status_code == 200
        broken = await client.post("/v1/predict", json={"model": "old", "text": "abc"})
        assert (broken.status_code, "cut short" in broken.json()["error"]) == (503, True)

    ask([], talk, registry={"folder": tmp_path})


def test_numbers_are_in_the_format_of_prometheus() -> None:
    counter = Counter("c", "about")
    counter.add(path='a"b\\')
    counter.add(2, path='a"b\\')
    assert counter.lines() == ['c{path="a\\"b\\\\"} 3']
    histogram = Histogram("h", "about", (1, 2))
    for value in (0.5, 1, 1.5, 9):
        histogram.observe(value)
    assert histogram.lines() == [
        'h_bucket{le="1"} 2',
        'h_bucket{le="2"} 3',
        'h_bucket{le="+Inf"} 4',
        "h_sum 12",
        "h_count 4",
    ]
