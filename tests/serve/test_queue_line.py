"""Connections that send something else than HTTP, or nothing: they get a sentence or are let go, and others go on."""

import json
from pathlib import Path

import pytest
from served import listening, speak

from seq2see.serve import client_protocol
from seq2see.serve.bounds import Bounds
from seq2see.serve.model_registry import ModelRegistry

POST = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_hostile_connections_are_answered_or_let_go(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_protocol, "CLIENT_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr("uvicorn.protocols.http.h11_impl.logging.Logger.warning", lambda *_: None)
    with listening(ModelRegistry(folders[:1]), bounds=Bounds(seconds=0.3)) as address:
        for wrong in (b"\x16\x03\x01hello\r\n\r\n", POST + b"content-length: -1\r\n\r\n"):
            head, _, body = speak(address, wrong).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400")
            assert list(json.loads(body)) == ["error"]
        for silent in (b"", b"GET /health HT"):  # no request ever comes
            assert speak(address, silent) == b""
        head, _, body = speak(address, POST + b"content-length: 100\r\n\r\n{").partition(b"\r\n\r\n")
        assert (head.startswith(b"HTTP/1.1 408"), "must arrive within" in json.loads(body)["error"]) == (True, True)
        whole = speak(address, b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert whole.endswith(b'{"status":"alive"}')


def test_the_answer_to_a_body_that_is_too_large_arrives(folders: list[Path]) -> None:
    body = b"x" * 8_000_000  # more than the buffers of both sides hold
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:4_000_000], body[4_000_000:]))
    kinds = (
        b"content-length: %d\r\n\r\n" % len(body) + body,
        b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
    )
    with listening(ModelRegistry(folders[:1]), bounds=Bounds(body=1000, seconds=20.0)) as address:
        for rest in kinds:
            head, _, answer = speak(address, POST + rest).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 413"), head[:80]
            assert "1,000 bytes" in json.loads(answer)["error"]
        # who asks first is told at once, before it sends anything
        head = speak(address, POST + b"content-length: 999999\r\nexpect: 100-continue\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413")


def test_a_body_without_end_is_not_read_for_ever(folders: list[Path]) -> None:
    with listening(ModelRegistry(folders[:1]), bounds=Bounds(body=1000, seconds=0.2)) as address:
        head = speak(address, POST + b"content-length: 999999\r\n\r\nabc")  # and never the rest
        assert head.startswith(b"HTTP/1.1 413")
