"""A server as a process: it says where it is, ends without losing an answer, and refuses what it cannot do."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from command import refused, seq2see


@contextmanager
def process(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that listens, and its address."""
    command = [sys.executable, "-m", "seq2see", "serve", *map(str, words), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        assert server.stderr is not None
        found = re.search(r"http://\S+", next(line for line in server.stderr if "serving" in line))
        assert found is not None
        yield server, found[0]
    finally:
        server.kill()
        server.communicate()


@pytest.mark.slow
def test_told_to_stop_it_finishes_what_it_has_and_refuses_the_rest(folders: list[Path]) -> None:
    with (
        process(folders[0], "--timeout", 300) as (server, address),
        httpx2.Client(base_url=address, timeout=300) as client,
        httpx2.Client(base_url=address, timeout=300, limits=httpx2.Limits(max_keepalive_connections=0)) as other,
    ):
        body = {"text": "abcdefgh", "min_length": 900, "beam": 4}
        with client.stream("POST", "/v1/predict/stream", json=body) as stream:
            lines = stream.iter_lines()
            while not next(lines).startswith("event: token"):
                pass
            server.send_signal(signal.SIGTERM)
            while other.get("/ready").status_code != 503:  # a request before that would wait for the stream to end
                pass
            answer = other.post("/v1/predict", json={"text": "abc", "beam": 1})
            assert answer.status_code == 503
            assert "about to stop" in answer.json()["error"]
            events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
            assert len(json.loads(events[-1])["output"]["ids"]) > 900
        assert server.wait(timeout=300) == 0


def test_what_cannot_be_served_is_one_sentence(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no such run folder" in refused(seq2see("serve", tmp_path / "none"))
    assert "cannot listen" in refused(seq2see("serve", folders[0], "--host", "256.0.0.1"))
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert '[serve]"' in refused(seq2see("serve", folders[0]))
