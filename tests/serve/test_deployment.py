"""What surrounds the server: TLS, a reverse proxy, and systemd."""

import socket
import ssl
import subprocess
from pathlib import Path

import httpx2
import pytest
from served import listening

from command import refused, seq2see
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
