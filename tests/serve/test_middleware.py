"""What is checked before a request is read: its host, its origin, its size, its client and its id."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from served import Client, ask, occupied

from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.host_names import Host, is_same_origin, parse_host
from seq2see.serve.middleware import name_client

GOOD_HOSTS = ("localhost", "127.0.0.1:8000", "[::1]:8000", "mine.org", "MINE.org:80", "mine.org.", "localhost.:1")
BAD_HOSTS = (
    *("evil.org", "localhost.evil.org", "evil-localhost", "evil.localhost", "notmine.org", "ours.mine.org", "[", ""),
    *(
        "evil.com@127.0.0.1",
        "127.0.0.1@evil.com",
        "user:word@localhost",
        "localhost:99999",
        "localhost:",
        "localhost:a",
    ),
    *(
        "[::1",
        "::1",
        "[::1%25eth0]",
        "[fe80::1%eth0]:80",
        "localhost..",
        ".",
        "localhost/x",
        "localhost#",
        " localhost",
    ),
    *("localhost:a", "127.1", "0x7f.0.0.1", "127.0.0.1:8000:80", "localhost,evil.org", "[127.0.0.1]", "localhost\\x"),
)
GOOD_ORIGINS = ("http://localhost", "http://LOCALHOST.", "http://localhost:80", "https://localhost:443")
BAD_ORIGINS = (
    *("http://evil.org", "null", "", "http://[::1", "http://localhost@evil.org", "http://u:p@localhost"),
    *(
        "http://localhost:81",
        "http://localhost.evil.org",
        "file://localhost",
        "http://localhost/",
        "localhost",
        "http://",
    ),
    *("http://[::1%25lo]", "https://localhost:99999999999", "://localhost", "http://localhost:80:80"),
)


def test_other_names_and_other_sites_are_refused(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for hosts, status in ((GOOD_HOSTS, 200), (BAD_HOSTS, 421)):
            for host in hosts:
                answer = await client.get("/health", headers={"host": host})
                assert (answer.status_code, host) == (status, host)
        for origins, status in ((GOOD_ORIGINS, 200), (BAD_ORIGINS, 403)):
            for origin in origins:
                assert (await client.get("/health", headers={"origin": origin})).status_code == status, origin
        twice = [("origin", "http://evil.org"), ("origin", "http://localhost")]
        assert (await client.get("/health", headers=twice)).status_code == 403
        answer = await client.get("/health")
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["x-content-type-options"] == "nosniff"

    ask(folders, talk, hosts=["mine.org"])


def test_hosts_are_compared_by_name_and_port() -> None:
    assert parse_host("[0:0::1]:80") == Host("::1", 80)
    assert is_same_origin("http://[::1]:80", Host("::1", None))
    assert is_same_origin("https://mine.org", Host("mine.org", 443))
    assert not is_same_origin("https://mine.org", Host("mine.org", 80))
    assert not is_same_origin("http://mine.org:8000", Host("mine.org", None))


def test_what_is_read_can_be_asked_for_its_head(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path in ("/health", "/ready", "/metrics", "/docs", "/", "/v1/models"):
            head, whole = await client.head(path), await client.get(path)
            assert (head.status_code, head.content) == (200, b""), path
            assert head.headers["content-type"] == whole.headers["content-type"]
        assert (await client.head("/v1/predict")).status_code == 405
        assert (await client.head("/nothing")).content == b""

    ask(folders[:1], talk)


DIGITS = "1" + "0" * 400


@pytest.mark.parametrize("field", ["beam", "n_best", "max_length", "min_length", "mbr_samples", "seed", "temperature"])
def test_numbers_of_many_digits_are_refused(folders: list[Path], field: str) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for number in (DIGITS, "-" + DIGITS, DIGITS + "0" * 6000, f"[{DIGITS}]", "1e400"):
            body = f'{{"text": "a", "{field}": {number}}}'
            answer = await client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
            assert (answer.status_code, list(answer.json())) == (422, ["error"]), number[:9]
            assert len(answer.text) < 300

    ask(folders[:1], talk)


def list_numbers(schema: Any, place: str = "") -> list[tuple[str, Any]]:
    """All schemas of numbers inside a schema, by their places."""
    if isinstance(schema, list):
        return [found for number, each in enumerate(schema) for found in list_numbers(each, f"{place}[{number}]")]
    if not isinstance(schema, dict):
        return []
    own = [(place, schema)] if schema.get("type") in ("integer", "number") and "const" not in schema else []
    return own + [found for name, each in schema.items() for found in list_numbers(each, f"{place}.{name}")]


def test_every_number_of_the_api_has_a_minimum_and_a_maximum(folders: list[Path]) -> None:
    document = ask(folders[:1], lambda client, _: client.get("/openapi.json")).json()
    found = list_numbers(document)
    assert len(found) > 60
    for place, schema in found:
        assert {"minimum", "exclusiveMinimum"} & schema.keys(), place
        assert {"maximum", "exclusiveMaximum"} & schema.keys(), place


def test_clients_are_told_apart_by_token_or_address() -> None:
    def name(address: str, token: int | None = None) -> str:
        return name_client({"client": (address, 1)}, token)

    assert name("10.0.0.1") == "10.0.0.1"
    assert name("2001:db8:0:1::5") == name("2001:db8:0:1:ffff::9") != name("2001:db8:0:2::5")
    assert name("fe80::1%eth0") == name("fe80::2")
    assert name("10.0.0.1", 0) == name("10.0.0.2", 0) != name("10.0.0.1", 1)
    assert name_client({"client": None}, None) == "unknown"


def test_a_client_has_so_many_requests_at_once(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        async def post(token: str) -> Any:
            header = {"authorization": f"Bearer {token}"}
            return await client.post("/v1/predict", json={"text": "abc", "max_length": 3}, headers=header)

        async with occupied(handler):
            waiting = [asyncio.create_task(post("one")) for _ in range(2)]
            while len(handler.batcher.waiting) < 2:
                await asyncio.sleep(0.01)
            refused = await post("one")
            assert (refused.status_code, "2 requests at the same time" in refused.text) == (429, True)
            assert refused.headers["retry-after"] == "1"
            waiting.append(asyncio.create_task(post("two")))
            assert (await client.get("/health")).status_code == 200
            while len(handler.batcher.waiting) < 3:
                await asyncio.sleep(0.01)
            assert (await post("three")).status_code == 401
        assert [(await each).status_code for each in waiting] == [200] * 3
        assert (await post("one")).status_code == 200

    ask(folders[:1], talk, tokens=["one", "two"], bounds=Bounds(client_requests=2, seconds=300.0))


def test_ids_of_requests_are_kept_or_made(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path in ("/health", "/nothing", "/v1/models"):
            kept = await client.get(path, headers={"x-request-id": "abc-1"})
            assert kept.headers["x-request-id"] == "abc-1"
        made = {(await client.get("/health")).headers["x-request-id"] for _ in range(3)}
        assert len(made) == 3
        for wrong in ("a b", "a" * 129, "é", ""):
            answer = await client.get("/health", headers={"x-request-id": wrong.encode("latin-1")})  # type: ignore[dict-item]
            assert answer.headers["x-request-id"] not in (wrong, "")
        refused = await client.get("/health", headers={"host": "evil.org", "x-request-id": "abc-2"})
        assert (refused.status_code, refused.headers["x-request-id"]) == (421, "abc-2")

    ask(folders[:1], talk)


def test_the_log_is_a_line_of_json_for_each_request(folders: list[Path], capfd: pytest.CaptureFixture[str]) -> None:
    from seq2see.serve.request_log import configure_log

    async def talk(client: Client, handler: RequestHandler) -> None:
        await client.get("/health", headers={"x-request-id": "abc-3"})
        handler.batcher.submit = None  # type: ignore[assignment, method-assign]
        await client.post("/v1/predict", json={"text": "a"}, headers={"x-request-id": "abc-4"})

    configure_log("json")
    try:
        ask(folders[:1], talk)
    finally:
        configure_log("text")
    healthy, failed, asked = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert (healthy["request_id"], healthy["path"], healthy["status"]) == ("abc-3", "/health", 200)
    assert (failed["request_id"], failed["level"], "TypeError" in failed["traceback"]) == ("abc-4", "error", True)
    assert (asked["request_id"], asked["method"], asked["status"]) == ("abc-4", "POST", 500)


def test_every_error_of_the_api_has_one_schema(folders: list[Path]) -> None:
    document = ask(folders[:1], lambda client, _: client.get("/openapi.json"), tokens=["secret"]).json()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert set(operation["responses"]) >= {"200", "400", "403", "413", "415", "421", "431", "500"}, path
            assert ("401" in operation["responses"]) == (path.startswith("/v1/") or path == "/metrics")
            for status, response in operation["responses"].items():
                schema = {"$ref": "#/components/schemas/ErrorResponse"}
                assert status == "200" or response["content"] == {"application/json": {"schema": schema}}
