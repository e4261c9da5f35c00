"""Runs that cannot be read, or not yet: each is a matter of its own requests, and others go on."""

import asyncio
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from served import Client, ask

from seq2see.core.errors import CheckpointError
from seq2see.runs.run import Run, load
from seq2see.serve import model_registry
from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.request_error import RequestError


class SlowDisk:
    """Loads runs, but waits with those of some names until it is released; it counts what it loads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *slow: str) -> None:
        self.slow, self.released, self.count = slow, threading.Event(), 0
        monkeypatch.setattr(model_registry, "load", self.load)

    def load(self, path: Path, *, trust: bool, sandbox: bool, device: str) -> Run:
        self.count += 1
        if path.name in self.slow:
            self.released.wait(30)
        return load(path, trust=trust, sandbox=sandbox, device=device)


def test_a_run_that_was_trained_on_is_read_again(folders: list[Path], tmp_path: Path) -> None:
    shutil.copytree(folders[0], tmp_path / "run")

    async def happen() -> None:
        registry = ModelRegistry([tmp_path / "run"])
        _, before = await registry.find(None)
        assert (await registry.find("run"))[1] is before
        (tmp_path / "run" / "weights.safetensors").touch()
        assert (await registry.find("run"))[1] is not before

    asyncio.run(happen())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_runs_are_tried_before_they_are_served(captions: Path, labels: Path, tmp_path: Path) -> None:
    """Runs of images and of documents pass; one that is no run has the sentence of its trial."""
    shutil.copytree(labels, tmp_path / "damaged")
    (tmp_path / "damaged" / "weights.safetensors").write_bytes(b"")
    registry = ModelRegistry([captions, labels, tmp_path / "damaged"], sandbox=True)
    described = {each.name: each.error for each in asyncio.run(registry.describe(240))}
    assert described.pop("captions") is None
    assert described.pop("labels") is None
    assert "weights.safetensors: the file is damaged" in str(described.pop("damaged"))


@pytest.mark.parametrize("name", ["config.yaml", "run.json", "weights.safetensors", "source.tokenizer.json"])
def test_a_pipe_in_a_run_is_refused_and_not_waited_for(folders: list[Path], tmp_path: Path, name: str) -> None:
    shutil.copytree(folders[0], tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    with pytest.raises(CheckpointError, match="must be a file; got a pipe"):
        load(tmp_path / "run")


def test_a_run_that_loads_for_ever_stops_no_other(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(monkeypatch, "rnn")

    async def talk(client: Client, handler: RequestHandler) -> None:
        stuck = [client.post("/v1/predict", json={"model": "rnn", "text": "abc"}) for _ in range(20)]
        waiting = asyncio.gather(*stuck)
        for _ in range(3):
            answer = await client.post("/v1/predict", json={"model": "heads", "text": "abc", "max_length": 3})
            assert answer.status_code == 200, answer.text
        for answer in await waiting:
            assert (answer.status_code, "still being loaded" in answer.text) == (503, True)
            assert answer.headers["retry-after"] == "5"
        began = time.monotonic()
        assert (await client.post("/v1/predict", json={"model": "rnn", "text": "abc"})).status_code == 503
        assert time.monotonic() - began < 1  # its time is over, so nobody waits for it again
        assert disk.count == 2  # one thread for each run, however many ask
        assert [each["ready"] for each in await describe_readiness(client)] == [200, 503, 200]
        disk.released.set()
        while (await client.get("/ready", params={"model": "rnn"})).status_code != 200:
            await asyncio.sleep(0.01)

    async def describe_readiness(client: Client) -> list[dict[str, int]]:
        queries = ({}, {"model": "rnn"}, {"model": "heads"})
        return [{"ready": (await client.get("/ready", params=each)).status_code} for each in queries]

    try:
        ask(folders, talk, bounds=Bounds(seconds=2.0))
    finally:
        disk.released.set()


def test_readiness_is_asked_run_by_run(folders: list[Path], tmp_path: Path) -> None:
    shutil.copytree(folders[0], tmp_path / "broken")
    (tmp_path / "broken" / "config.yaml").write_text("half")

    async def talk(client: Client, handler: RequestHandler) -> None:
        for query, status in (({}, 200), ({"model": "rnn"}, 200), ({"model": "broken"}, 503), ({"model": "x"}, 404)):
            assert (await client.get("/ready", params=query)).status_code == status, query

    ask([tmp_path / "broken", folders[0]], talk)


def test_a_failure_is_remembered_until_the_files_change_or_a_while_has_passed(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folders[0], tmp_path / "run")
    config = (tmp_path / "run" / "config.yaml").read_text()
    (tmp_path / "run" / "config.yaml").write_text("half")
    disk = SlowDisk(monkeypatch)
    registry = ModelRegistry([tmp_path / "run"])

    async def fail() -> int:
        with pytest.raises(RequestError, match="cut short"):
            await registry.find(None)
        return disk.count

    async def happen() -> None:
        assert [await fail(), await fail()] == [1, 1]
        monkeypatch.setattr(model_registry, "FAILURE_SECONDS", 0.0)
        assert await fail() == 2
        monkeypatch.setattr(model_registry, "FAILURE_SECONDS", 1e9)
        assert await fail() == 2
        (tmp_path / "run" / "config.yaml").write_text(config)
        assert (await registry.find(None))[0] == "run"

    asyncio.run(happen())


def test_a_loaded_run_is_served_while_the_disk_does_not_answer(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, disk = ModelRegistry(folders[:1]), threading.Event()

    async def happen() -> None:
        before = await registry.find(None)
        monkeypatch.setattr(model_registry, "_read_version", lambda _: disk.wait(30))
        assert await registry.find(None, 0.05) == before

    try:
        asyncio.run(happen())
    finally:
        disk.set()


def test_runs_that_are_gone_are_forgotten(folders: list[Path], tmp_path: Path) -> None:
    shutil.copytree(folders[0], tmp_path / "run")
    registry = ModelRegistry([], tmp_path)

    async def happen() -> None:
        await registry.find("run")
        shutil.rmtree(tmp_path / "run")
        with pytest.raises(RequestError, match="no run is served"):
            await registry.find("run")
        assert not registry._loaders

    asyncio.run(happen())


def test_a_name_of_other_bytes_can_be_written(folders: list[Path], tmp_path: Path) -> None:
    strange = tmp_path / "run\udcff"
    shutil.copytree(folders[0], strange)

    async def talk(client: Client, handler: RequestHandler) -> None:
        usable, other = (await client.get("/v1/models")).json()["models"]
        assert (usable["name"], usable.get("error")) == (folders[0].name, None)
        assert other["name"] == "run\\udcff"
        assert "the path of a run folder must be UTF-8" in other["error"]

    ask([folders[0], strange], talk)
