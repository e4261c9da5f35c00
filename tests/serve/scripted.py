"""A server whose answers are written by a test: how the page takes errors, late answers and lost connections."""

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any
from urllib.parse import parse_qsl

from seq2see.serve.bounds import Bounds
from seq2see.serve.response_schemas import ExplainResponse, HeldOutResponse, ModelsResponse
from seq2see.serve.responses import describe_options
from seq2see.serve.studio_page import render_studio

Json = dict[str, Any]
JSON, HTML, EVENTS = "application/json", "text/html", "text/event-stream"


@dataclass
class Reply:
    """An answer: what is sent, or what hangs up."""

    content: Any = None
    status: int = 200
    kind: str = JSON
    hangs_up: bool = False


class Flow:
    """The events of a stream, which a test lets go one by one; `gone` is set when the page hangs up."""

    def __init__(self) -> None:
        self.parts: Queue[bytes | None] = Queue()
        self.gone = threading.Event()

    def send(self, name: str, data: Any) -> None:
        self.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def write(self, part: bytes) -> None:
        self.parts.put(part)

    def end(self) -> None:
        self.parts.put(None)


Answer = Callable[[Json], Reply | Flow]


@dataclass
class Script:
    """What a server answers, by path, and what it was asked."""

    models: Sequence[Json]
    lines: Sequence[Json] = ()
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, Json]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    needs_token: str | None = None

    def bodies(self, path: str) -> list[Json]:
        """The requests to a path, in order."""
        return [body for asked, body in self.asked if asked == path]

    def answer(self, path: str, body: Json, token: str | None) -> Reply | Flow:
        path, _, query = path.partition("?")
        body = {**dict(parse_qsl(query)), **body}
        if path == "/":
            return Reply(render_studio({}), kind=HTML)
        self.asked.append((path, body))
        self.tokens.append(token)
        if self.needs_token is not None and token != f"Bearer {self.needs_token}":
            return Reply({"error": "a token is needed; send it as Authorization: Bearer TOKEN."}, 401)
        if path in self.answers:
            return self.answers[path](body)
        if path == "/v1/models":
            options = [each.model_dump() for each in describe_options(Bounds())]
            found = {"models": list(self.models), "options": options, "bounds": {}}
            return Reply(ModelsResponse.model_validate(found).model_dump(exclude_none=True) | {"options": options})
        if path == "/v1/held-out":
            held_out = {"model": self.models[0]["name"], "data": "test data", "count": len(self.lines)}
            return Reply(HeldOutResponse.model_validate(held_out | {"lines": list(self.lines)}).model_dump())
        if path == "/v1/predict/stream":
            flow = Flow()
            flow.end()
            return flow
        if path == "/v1/explain":
            return Reply(make_answer(body.get("text", "image"), model=body["model"]))
        return Reply({"error": f"nothing is at {path}."}, 404)


def make_answer(source: str, target: str | None = None, **fields: Any) -> Json:
    """An answer whose weights are all different: a token for each letter, and an end."""
    target = source[::-1] + "!" if target is None else target
    ends: Mapping[str, Any] = {"text": "</s>", "confidence": None}
    sides = []
    for text in (source, target):
        letters = [{"text": x, "start": n, "end": n + 1, "confidence": None} for n, x in enumerate(text)]
        sides.append([*letters, {**ends, "start": len(text), "end": len(text)}])
    for place, token in enumerate(sides[1]):
        token["confidence"] = 0.9 - place / 100
    rows = [
        [1.0 + ((3 * r + 5 * c + 7 * head) % 11) for c in range(len(sides[0]))]
        for head in range(2)
        for r in range(len(sides[1]))
    ]
    weights = [[cell / sum(row) for cell in row] for row in rows]
    count = len(sides[1])
    top = [
        [
            {"id": 10 * n + k, "text": text, "confidence": share}
            for k, (text, share) in enumerate([(each["text"], 0.6), ("q", 0.3), ("w", 0.0004)])
        ]
        for n, each in enumerate(sides[1])
    ]
    found = {
        "model": "one",
        "source": source,
        "target": target,
        "score": -0.4567,
        "finished": True,
        "ids": [10 * n for n in range(count)],
        "top_tokens": top,
        "history": None,
        "drops": None,
        "source_tokens": sides[0],
        "target_tokens": sides[1],
        "maps": [
            {
                "name": "decoder.cross",
                "weights": [weights[:count], weights[count:]],
                "queries": "target",
                "keys": "source",
            }
        ],
        **fields,
    }
    return ExplainResponse.model_validate(found).model_dump(exclude_unset=True)


def make_model(name: str = "one", **fields: Any) -> Json:
    """A run that reads and writes text."""
    known = {"preset": "bahdanau2015", "source": "text", "writes": "text", "action": "translate", "attention": True}
    return {"name": name, **known, "parameters": 12345, **fields}


def make_line(number: int, source: str, output: str, **fields: Any) -> Json:
    """A held-out line."""
    rest = {"references": [output], "confidence": 0.5, "correct": True, "image": None}
    return {"number": number, "source": source, "output": output, **rest, **fields}


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _reply(self, body: Json) -> None:
        reply = self.script.answer(self.path, body, self.headers.get("Authorization"))
        if isinstance(reply, Flow):
            self._begin(200, EVENTS)
            return self._flow(reply)
        if reply.hangs_up:
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        content = reply.content if isinstance(reply.content, str) else json.dumps(reply.content)
        self._begin(reply.status, reply.kind)
        self.wfile.write(content.encode())
        return None

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()

    def _flow(self, flow: Flow) -> None:
        while True:
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return flow.gone.set()
            try:
                part = flow.parts.get(timeout=0.02)
            except Empty:
                continue
            if part is None:
                return None
            self.wfile.write(part)
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def playing(script: Script) -> Iterator[str]:
    """The address of a server that follows a script."""
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
