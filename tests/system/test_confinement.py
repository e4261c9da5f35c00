"""Limits that a process puts on itself: what it can no longer do, and that it says which limits do not hold."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from seq2see.system.confinement import ProcessLimits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are those of Linux")
LIMITS = ProcessLimits(memory=2**30, seconds=2, written=1000, files=40)
BEGINNING = f"""
import json, os, resource, socket, sys
from seq2see.system.confinement import ProcessLimits, confine
missing = confine(ProcessLimits(**json.loads({json.dumps(asdict(LIMITS))!r})))
"""


def run_confined(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process with limits."""
    return subprocess.run([sys.executable, "-c", BEGINNING + code], capture_output=True, text=True, timeout=60)


def ask_confined(code: str) -> object:
    """What code prints as JSON in a process with limits."""
    done = run_confined(code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_memory_ends_at_its_limit() -> None:
    assert "MemoryError" in run_confined("bytearray(2**31)").stderr
    assert run_confined("bytearray(2**28)").returncode == 0


def test_endless_computing_is_killed() -> None:
    assert run_confined("while True: pass").returncode == -9


def test_no_socket_leads_anywhere() -> None:
    """Not even to this machine: a socket that listens outside cannot be reached."""
    code = """
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print('"connected"')
except OSError as error:
    print(json.dumps(["a network of its own" in " ".join(missing), error.strerror]))
"""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-c", BEGINNING + code, port], capture_output=True, text=True, timeout=60
        )
    known, reason = json.loads(done.stdout)
    if known:
        pytest.skip("this system permits no network namespaces")
    assert reason == "Network is unreachable"


def test_files_and_their_number_are_bounded(tmp_path: object) -> None:
    code = f"""
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = os.open({str(tmp_path)!r} + "/x", os.O_CREAT | os.O_WRONLY)
try:
    while True: os.write(file, bytes(500))
except OSError: pass
handles = []
try:
    while True: handles.append(os.open("/dev/null", os.O_RDONLY))
except OSError: pass
print(json.dumps([os.path.getsize({str(tmp_path)!r} + "/x"), len(handles) < 40]))
"""
    assert ask_confined(code) == [1000, True]


def test_a_limit_cannot_be_taken_back() -> None:
    code = """
try:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("true")
except (ValueError, OSError): print("false")
"""
    assert ask_confined(code) is False


def test_processes_are_refused_or_it_is_said_that_they_are_not() -> None:
    code = """
try:
    process = os.fork()
    if not process: os._exit(0)
    os.waitpid(process, 0)
    started = True
except OSError: started = False
print(json.dumps([started, "a limit on processes" in missing]))
"""
    started, said = ask_confined(code)  # type: ignore[misc]
    assert started is said


def test_what_the_system_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
from seq2see.system import confinement
confinement._call = lambda *_: False
resource.setrlimit = lambda *_: (_ for _ in ()).throw(ValueError)
print(json.dumps(confinement.confine(ProcessLimits(1, 1))))
"""
    named = ask_confined(code)
    assert isinstance(named, list)
    assert named[:2] == ["a network of its own, cut off from yours", "a limit of memory"]
