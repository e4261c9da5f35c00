"""What an attacker sends: each gets one sentence with the right status, and the server goes on."""

import base64
import io
import json
import logging
import socket
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from served import Client, ask, listening, speak

from seq2see.serve.body_checks import check_names, check_size
from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.request_error import RequestError
from seq2see.serve.request_log import JsonFormatter
from seq2see.serve.server import open_socket
from seq2see.serve.upload import check_image

HOST = b"host: localhost\r\nconnection: close\r\n"
GET = b"GET /health HTTP/1.1\r\n" + HOST
POST = b"POST /v1/predict HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\n"
BODY = b'{"text":"abc","max_length":3}'
CHUNKED = b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"content-length: %d\r\n" % len(BODY)
HEADS: list[tuple[bytes, int, str]] = [
    (POST + LENGTH + b"\r\n" + BODY, 200, "outputs"),
    (POST + CHUNKED, 200, "outputs"),
    (POST + b"content-length: 5\r\n" + CHUNKED, 400, "Transfer-Encoding"),
    (POST.replace(b"HTTP/1.1", b"HTTP/1.0") + CHUNKED, 400, "Transfer-Encoding"),
    (POST + CHUNKED.replace(b"chunked", b"gzip, chunked"), 400, "Transfer-Encoding"),
    (POST + b"content-length: 5\r\n" + LENGTH + b"\r\n" + BODY, 400, "conflicting Content-Length"),
    (POST + b"content-length: " + b"9" * 400 + b"\r\n\r\n", 400, "Content-Length"),
    (POST + b"content-length: " + b"9" * 19 + b"\r\n\r\n", 413, "bytes"),
    (GET + b"x:\r\n" * 99 + b"\r\n", 431, "100 headers; got 101"),
    (GET + b"x: " + b"a" * 500_000 + b"\r\n\r\n", 431, "65,536 bytes"),
    (GET + b"x : a\r\n\r\n", 400, "illegal header line"),
    (GET.replace(b"HTTP/1.1", b"HTTP/9.9") + b"\r\n", 400, "HTTP/9.9"),
    (GET.replace(b"/health", b"http://localhost/health") + b"\r\n", 400, "must be a path"),
    (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400, "must be a path"),
    (b"CONNECT evil.com:443 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "must be a path"),
    (b"A" * 5000 + b" /health HTTP/1.1\r\n" + HOST + b"\r\n", 405, "A" * 20 + ";"),
    (GET.replace(b"/health", b"/v1/%2e%2e/health") + b"\r\n", 404, "/v1/../health"),
    (GET.replace(b"/health", b"//v1/models") + b"\r\n", 404, "nothing at //v1/models"),
    (POST + LENGTH + b"content-encoding: gzip\r\n\r\n" + BODY, 415, "compressed"),
    (POST + LENGTH + b"content-type: text/plain\r\n\r\n" + BODY, 400, "content-type must be given once"),
    (POST + LENGTH + b"authorization: a\r\nauthorization: b\r\n\r\n" + BODY, 400, "authorization must be given once"),
]


def test_heads_that_programs_read_in_different_ways_are_refused(folders: list[Path]) -> None:
    with listening(ModelRegistry(folders[:1])) as address:
        for raw, status, words in HEADS:
            head, _, body = speak(address, raw).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d" % status), (raw[:120], head[:60], body[:200])
            assert words in body.decode(), (raw[:120], body[:200])
            assert status == 200 or list(json.loads(body)) == ["error"]


def test_requests_one_behind_the_other_are_answered_in_order(folders: list[Path]) -> None:
    head = b"host: localhost\r\n"
    first = (
        b"POST /v1/predict HTTP/1.1\r\n" + head + b"content-type: application/json\r\n" + LENGTH + b"\r\n{" + BODY[1:]
    )
    wrong = b"POST /health HTTP/1.1\r\n" + head + b"content-length: 5\r\n\r\nhello"  # its body is not read by any route
    upgrade = b"GET /ready HTTP/1.1\r\n" + head + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n"
    with listening(ModelRegistry(folders[:1])) as address:
        heard = speak(address, first + wrong + upgrade + GET + b"\r\n")
    assert [part[:3] for part in heard.split(b"HTTP/1.1 ")[1:]] == [b"200", b"405", b"200", b"200"]
    assert heard.index(b"outputs") < heard.index(b"does not take") < heard.index(b"ready") < heard.index(b"alive")


def test_a_refusal_arrives_although_the_client_still_sends(folders: list[Path]) -> None:
    large = b"content-length: 8000000\r\n\r\n" + b"x" * 8_000_000  # more than the buffers of both sides hold
    refused = [
        (POST + large, 401),
        (POST.replace(b"localhost", b"evil.com") + large, 421),
        (POST + b"origin: http://evil.com\r\n" + large, 403),
        (POST.replace(b"/v1/predict", b"/nothing") + large, 404),
        (POST + b"content-length: 0\r\n" + large, 400),
    ]
    with listening(ModelRegistry(folders[:1]), tokens=["secret"]) as address:
        for raw, status in refused:
            head, _, body = speak(address, raw).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d" % status), (raw[:120], head[:60])
            assert list(json.loads(body)) == ["error"]


def test_every_path_takes_head_if_it_takes_get_and_nothing_undocumented(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        document = (await client.get("/openapi.json")).json()
        for path, methods in [*document["paths"].items(), ("/", {"get": {}}), ("/docs", {"get": {}})]:
            for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "FOO"):
                answer = await client.request(method, path)
                known = method.lower() in methods or (method == "HEAD" and "get" in methods)
                assert (answer.status_code != 405) == known, (method, path)
                assert answer.status_code != 405 or answer.headers["allow"]

    ask(folders, talk)


def test_small_parts_of_a_response_are_not_held_back() -> None:
    with open_socket("127.0.0.1", 0) as server, socket.create_connection(server.getsockname()):
        connection, _ = server.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("proxies", "told"), [([], 2), (["127.0.0.1"], 0)])
def test_an_address_has_so_many_connections(folders: list[Path], proxies: list[str], told: int) -> None:
    server = {"proxies": proxies}  # all clients of a proxy have one address
    with listening(ModelRegistry(folders[:1]), server=server, bounds=Bounds(client_requests=2)) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        heard = []
        lines = [socket.create_connection((host, int(port)), timeout=20) for _ in range(5)]
        for line in lines:
            line.settimeout(0.5)
            try:
                heard.append(line.recv(1000))
            except (TimeoutError, ConnectionError):
                heard.append(b"")
        for line in lines:
            line.close()
        assert sum(b" 429 " in each and b"2 connections" in each for each in heard) == told
        for _ in range(100):  # the server sees a moment later that they have gone
            answer = speak(address, GET + b"\r\n")
            if b" 200 " in answer:
                return
        raise AssertionError(answer)


def test_tokens_have_the_scheme_of_a_token(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for given, status in (
            ("Bearer secret", 200),
            ("bearer  secret ", 200),
            ("secret", 401),
            ("Basic secret", 401),
            ("Bearersecret", 401),
            ("Bearer", 401),
            ("Bearer secret secret", 401),
        ):
            answer = await client.get("/v1/models", headers={"authorization": given})
            assert answer.status_code == status, given

    ask(folders, talk, tokens=["secret"])


def test_readiness_says_nothing_about_runs_without_a_token(folders: list[Path], tmp_path: Path) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for name, status in (("rnn", 200), ("none", 404), ("../rnn", 404), ("broken", 503)):
            answer = await client.get("/ready", params={"model": name})
            assert answer.status_code == status
            assert status == 200 or not any(each in answer.text for each in ("rnn", "heads", str(tmp_path)))

    (tmp_path / "broken").mkdir()
    ask([*folders, tmp_path / "broken"], talk, tokens=["secret"])


def test_the_log_cannot_control_a_terminal() -> None:
    record = logging.LogRecord("name", logging.INFO, "", 0, "GET /\x9b31m\x1b[0m\u2028", None, None)
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == "GET /\x9b31m\x1b[0m\u2028"


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        (b'{"texts": [%s]}' % b",".join([b'"a,b"'] * 17), True),  # commas in a text are no values
        (b'{"text": "%s"}' % (b"[" * 1000), True),
        (b'{"text": "%s"}' % (b'\\",' * 1000), True),
        (b'{"text": "\\\\", "more": [%s]}' % b",".join([b"1"] * 30), False),
        (b"[" * 1000, False),
        (b'{"texts": [%s]}' % b",".join([b'""'] * 21), False),
        (b"{%s}" % b",".join(b'"k%d":{}' % number for number in range(21)), False),
        (b'"' * 1000, False),
    ],
)
def test_values_are_counted_before_they_are_read(body: bytes, fits: bool) -> None:
    if fits:
        check_size(body, Bounds(values=20))
        return
    with pytest.raises(RequestError, match="20 values"):
        check_size(body, Bounds(values=20))


def test_names_stand_once() -> None:
    check_names(b'{"a": {"b": 1}, "c": {"b": 2}}')
    for twice in (b'{"a": 1, "a": 1}', b'{"c": [{"a": 1, "b": 2, "\\u0061": 3}]}'):
        with pytest.raises(RequestError, match="'a' twice"):
            check_names(twice)


def test_json_with_too_much_in_it_is_refused(folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> None:
        for path in ("/v1/predict", "/v1/predict/stream", "/v1/explain", "/v1/page"):
            for content, status in ((b"[" + b"1," * 30_000 + b"1]", 413), (b'{"text": "a", "text": "a"}', 422)):
                answer = await client.post(path, content=content, headers={"content-type": "application/json"})
                assert (answer.status_code, list(answer.json())) == (status, ["error"]), answer.text

    ask(folders, talk)


def make_form(*parts: tuple[str, bytes]) -> bytes:
    head = b"--x\r\ncontent-disposition: form-data; %s\r\n\r\n%s\r\n"
    return b"".join(head % (name.encode(), content) for name, content in parts) + b"--x--"


def test_forms_of_an_attacker(captions: Path) -> None:
    image, request = ('name="image"; filename="../../a"', b"?"), ('name="request"', b"{\xff\\ud800}")
    kind = "multipart/form-data; boundary=x"
    forms: list[tuple[str, bytes, int, str]] = [
        (kind, make_form(image), 409, "whole image"),
        (kind, make_form(image, ('name="other"', b"a")), 422, "got image, other"),
        (kind, make_form(*[image] * 3), 400, "Too many files"),
        (kind, make_form(image, *[request] * 3), 400, "Too many fields"),
        (kind, make_form(image, ('name="request"', b"a" * 1_100_000)), 400, "exceeded"),
        (kind, make_form(image).replace(b"\r\n\r\n", b"\r\n" + b"x: y\r\n" * 10_000 + b"\r\n", 1), 400, "Invalid"),
        ("multipart/form-data", make_form(image), 400, "boundary"),
        ("multipart/form-data; boundary=" + "x" * 1000, make_form(image), 400, "Invalid"),
        *[
            (f"{kind}; charset={name}", make_form(image, request), 400, "UTF-8")
            for name in ("punycode", "undefined", "unicode_escape")
        ],
    ]

    async def talk(client: Client, handler: RequestHandler) -> None:
        for kind, content, status, words in forms:
            answer = await client.post("/v1/predict", content=content, headers={"content-type": kind})
            assert (answer.status_code, words in answer.json()["error"]) == (status, True), (kind, answer.text)

    ask([captions], talk)


def write_png(width: int, height: int) -> bytes:
    """A PNG that says that it is so large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 10_000)) + chunk(b"IEND", b"")


def write_image(kind: str, size: tuple[int, int] = (4, 4), **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, kind, **options)
    return file.getvalue()


def test_images_of_an_attacker() -> None:
    progressive = write_image("JPEG", progressive=True)
    scan = progressive[progressive.rindex(b"\xff\xda") : -2]
    frames = [Image.new("L", (4, 4), shade) for shade in range(200)]
    refused: list[tuple[bytes, int, str]] = [
        (write_png(60_000, 60_000), 413, "40,000,000 pixels"),
        (write_png(7_000, 7_000), 413, "7000 x 7000"),
        (write_png(100, 100)[:-40], 409, "whole image"),
        (progressive[:-2] + scan * 200 + b"\xff\xd9", 413, "100 scans"),
        (write_image("PNG")[:50], 409, "whole image"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>', 409, "whole image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 409, "whole image"),
    ]
    for data, status, words in refused:
        with pytest.raises(RequestError, match=words) as caught:
            check_image(data, Bounds())
        assert caught.value.status == status
    assert check_image(progressive, Bounds()) == "JPEG"
    assert check_image(progressive[:-2] + scan * 5 + b"\xff\xd9", Bounds()) == "JPEG"
    assert check_image(write_image("GIF", save_all=True, append_images=frames), Bounds()) == "GIF"


def test_the_first_frame_is_read_and_images_are_turned_upright(captions: Path) -> None:
    blue, turned = Image.new("RGB", (4, 4), "blue"), Image.new("RGB", (8, 4), "red")
    turned.paste("blue", (0, 0, 4, 4))
    tag = Image.Exif()
    tag[0x0112] = 6  # the camera was held upright
    files = {
        "frames": (write_image("PNG"), write_image("PNG", save_all=True, append_images=[blue] * 50)),
        "turned": tuple(
            save(each, exif) for each, exif in ((turned.transpose(Image.Transpose.ROTATE_270), None), (turned, tag))
        ),
    }

    async def talk(client: Client, handler: RequestHandler) -> None:
        for name, pair in files.items():
            asked = [{"image": base64.b64encode(data).decode(), "attention": "full"} for data in pair]
            one, other = [(await client.post("/v1/explain", json=body)).json() for body in asked]
            assert one["image"] == other["image"], name

    ask([captions], talk)


def save(image: Image.Image, exif: Image.Exif | None) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", **({} if exif is None else {"exif": exif}))
    return file.getvalue()
