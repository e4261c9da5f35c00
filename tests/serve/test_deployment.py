"""What surrounds the server: TLS, a reverse proxy, and systemd."""

import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from served import listening

from command import refused, seq2see
from seq2see.serve import middleware
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.middleware import name_client
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.systemd import Watchdog, notify


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    files = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    try:
        subprocess.run([*command.split(), "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return files


def test_tls(folders: list[Path], certificate: tuple[Path, Path]) -> None:
    with listening(ModelRegistry(folders[:1]), server={"certificate": certificate}) as address:
        assert address.startswith("https://127.0.0.1:")
        with httpx2.Client(verify=ssl.create_default_context(cafile=str(certificate[0]))) as client:
            assert client.get(f"{address}health").json() == {"status": "alive"}
            page = client.get(address, headers={"origin": address.rstrip("/")})
            assert page.status_code == 200


def test_a_wrong_certificate_is_one_sentence(
    folders: list[Path], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("text")
    right = certificate[0]
    assert "both --certificate and --key" in refused(seq2see("serve", folders[0], "--key", certificate[1]))
    for wrong in (tmp_path / "none", tmp_path / "text", right):
        sentence = refused(seq2see("serve", folders[0], "--certificate", right, "--key", wrong))
        assert "must be a certificate and its key" in sentence


@pytest.mark.parametrize(("proxies", "client"), [([], "127.0.0.1"), (["127.0.0.1"], "10.1.2.3")])
def test_a_proxy_that_is_named_says_who_asks(folders: list[Path], proxies: list[str], client: str) -> None:
    seen = []
    with listening(ModelRegistry(folders[:1]), server={"proxies": proxies}) as address:
        from seq2see.serve import middleware

        original = middleware.name_client
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(middleware, "name_client", lambda *given: seen.append(original(*given)) or seen[-1])
            answer = httpx2.get(f"{address}docs", headers={"x-forwarded-for": "10.1.2.3", "x-forwarded-proto": "https"})
    assert seen == [client]
    assert ("https://127.0.0.1" in answer.text) == bool(proxies)


def test_systemd_is_told(folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        with listening(ModelRegistry(folders[:1])):
            heard = [manager.recv(100) for _ in range(4)]
        assert heard.count(b"READY=1") == 1
        assert heard.count(b"WATCHDOG=1") == 3
        while heard[-1] != b"STOPPING=1":
            heard.append(manager.recv(100))


def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nothing/there")
    notify("READY=1")
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    monkeypatch.setenv("WATCHDOG_PID", "1")  # meant for another process
    assert Watchdog().seconds == 0


DEPLOY = Path(__file__).parents[2] / "deploy"
STREAM = {"text": "abc", "max_length": 3}


@contextmanager
def run_proxy(kind: str, server: str, folder: Path, certificate: tuple[Path, Path]) -> Iterator[int]:
    """nginx or Caddy with the file of `deploy`, in front of a server; the port that it listens on, without TLS."""
    if shutil.which(kind) is None:
        pytest.skip(f"{kind} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = server.removeprefix("http://").rstrip("/")
    if kind == "nginx":
        site = (DEPLOY / "nginx.conf").read_text().replace("127.0.0.1:8000", place)
        site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("seq2see.example.org;", "localhost;")
        for name, file in zip(("ssl_certificate ", "ssl_certificate_key "), certificate, strict=True):
            site = "".join(f"{name}{file};\n" if name in line else f"{line}\n" for line in site.splitlines())
        paths = "".join(f"{each}_temp_path {folder};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.geteuid() == 0 else ""
        head = f"daemon off;{user}pid {folder}/pid;error_log {folder}/error.log;events {{}}\n"
        (folder / "conf").write_text(f"{head}http {{access_log off;{paths}\n{site}}}\n")
        command = ["nginx", "-c", str(folder / "conf"), "-p", str(folder)]
        subprocess.run([*command, "-t"], check=True, capture_output=True)
    else:
        site = (DEPLOY / "Caddyfile").read_text().replace("127.0.0.1:8000", place)
        site = site.replace("\nseq2see.example.org", f"\nhttp://127.0.0.1:{port}")
        (folder / "conf").write_text(f"{{\n\tadmin off\n}}\n{site}")
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "conf")]
    with subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_DATA_HOME": str(folder)}
    ) as proxy:
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.05)
            yield port
        finally:
            proxy.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_a_real_proxy_hides_nothing(
    folders: list[Path], certificate: tuple[Path, Path], tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(middleware, "name_client", lambda *given: seen.append(name_client(*given)) or seen[-1])
    server = listening(ModelRegistry(folders[:1]), server={"proxies": ["127.0.0.1"]})
    with server as address, run_proxy(kind, address, tmp_path, certificate) as port:
        there = httpx2.HTTPTransport(local_address="127.0.0.2")
        with httpx2.Client(transport=there, base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            answer = client.post("/v1/predict", json=STREAM, headers={"x-forwarded-for": "10.9.9.9"})
            assert (answer.status_code, seen) == (200, ["127.0.0.2"])
            assert answer.headers["x-request-id"]
            large = client.post("/v1/predict", content=b"x" * 12_000_001, headers={"content-type": "application/json"})
            assert (large.status_code, list(large.json())) == (413, ["error"])
            begun, done = threading.Event(), threading.Event()
            job = DecodeJob(lambda _: begun.set() or done.wait(20))
            server.server.handler.batcher.submit([job])
            begun.wait(20)
            with client.stream("POST", "/v1/predict/stream", json=STREAM) as events:
                lines = events.iter_lines()
                assert next(lines) == "event: start"  # it is here although nothing has been decoded
                done.set()
                assert "event: done" in list(lines)
    with run_proxy(kind, address, tmp_path, certificate) as port:  # whose server has gone
        gone = httpx2.get(f"http://127.0.0.1:{port}/health", timeout=30)
        assert (gone.status_code, list(gone.json())) == (503, ["error"])


def test_the_unit_of_systemd_is_sound(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = tmp_path / "seq2see.service"
    unit.write_text((DEPLOY / "seq2see.service").read_text().replace("/opt/seq2see/bin/seq2see", sys.executable))
    for command in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        found = subprocess.run(["systemd-analyze", *command, str(unit)], capture_output=True, text=True)
        assert found.returncode == 0, (found.stdout + found.stderr)[-300:]
        assert command[0] != "verify" or not found.stderr


def test_the_image_of_docker_is_sound() -> None:
    if shutil.which("hadolint") is None:
        pytest.skip("hadolint is not installed")
    found = subprocess.run(["hadolint", str(DEPLOY / "Dockerfile")], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")
