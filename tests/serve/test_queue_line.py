"""Connections that send something else than HTTP, or nothing: they get a sentence or are let go, and others go on."""

import json
import socket
from pathlib import Path

import pytest
from served import listening

from seq2see.serve import server
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.requests import Bounds

POST = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def speak(address: str, *sent: bytes) -> bytes:
    """What comes back until the other side hangs up."""
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        for each in sent:
            line.sendall(each)
        heard = b""
        try:
            while chunk := line.recv(65536):
                heard += chunk
        except ConnectionResetError:
            pass
        return heard


def test_hostile_connections_are_answered_or_let_go(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CLIENT_TIMEOUT_SECONDS", 0.3)
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
