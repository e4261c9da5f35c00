"""Several machines train as one process does: network namespaces with virtual cables, and torchrun in each."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from reversal import write_reversals

from seq2see.runs.folder import RunFolder

UPDATES = 30
SETTINGS = ["preset=bahdanau2015", "train.microbatches=4", "train.validate_every=10", "train.validation_pairs=4"]
SETTINGS += ["model.encoder.size=16", "model.decoder.size=16", "train.batch_tokens=128", "data.held_out=0.1"]
PORT = "29511"


class Machines:
    """Some hosts on one switch, each with a network of its own; host n has the address 10.77.0.n+1."""

    def __init__(self, count: int) -> None:
        mark = uuid.uuid4().hex[:5]
        self.switch = f"sw{mark}"
        self.hosts = [f"h{number}{mark}" for number in range(count)]

    def build(self) -> None:
        """Make the hosts; an OSError says that this is not permitted here."""
        _ip("link", "add", self.switch, "type", "bridge")
        _ip("link", "set", self.switch, "up")
        for number, host in enumerate(self.hosts):
            _ip("netns", "add", host)
            _ip("link", "add", f"c{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
            _ip("link", "set", f"c{host}", "master", self.switch, "up")
            _ip("-n", host, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            _ip("-n", host, "link", "set", "eth0", "up")
            _ip("-n", host, "link", "set", "lo", "up")

    def remove(self) -> None:
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.switch], check=False, capture_output=True)

    def pull_cable(self, number: int) -> None:
        _ip("link", "set", f"c{self.hosts[number]}", "down")

    def train(
        self, *words: str, timeout: float = 60, restarts: int = 0, last: str = ""
    ) -> list["subprocess.Popen[str]"]:
        """Start torchrun on every host; `last` takes the place of the data on the last one."""
        processes = []
        for number, host in enumerate(self.hosts):
            mine = [last, *words[1:]] if last and number == len(self.hosts) - 1 else list(words)
            agent = ["--nnodes", str(len(self.hosts)), "--node-rank", str(number), "--nproc-per-node", "1"]
            agent += ["--master-addr", "10.77.0.1", "--master-port", PORT, "--max-restarts", str(restarts)]
            command = ["ip", "netns", "exec", host, sys.executable, "-m", "torch.distributed.run", *agent]
            command += ["-m", "seq2see", "train", *mine]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "SEQ2SEE_TIMEOUT": str(timeout)}
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            processes.append(
                subprocess.Popen(command, text=True, env=environment, start_new_session=True, **pipes)  # type: ignore[call-overload]
            )
        return processes


def _ip(*words: str) -> None:
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise OSError(error.stderr.strip()) from error


def build(count: int) -> Iterator[Machines]:
    if shutil.which("ip") is None:
        pytest.skip("no network namespaces: the program ip (Debian: iproute2) is not there")
    machines = Machines(count)
    try:
        machines.build()
    except OSError as error:
        machines.remove()
        pytest.skip(f"no network namespaces: {error}")
    yield machines
    machines.remove()


@pytest.fixture
def two() -> Iterator[Machines]:
    yield from build(2)


@pytest.fixture
def four() -> Iterator[Machines]:
    yield from build(4)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv", 200)


def end(processes: list["subprocess.Popen[str]"], seconds: float = 240) -> list[str]:
    """What each host printed until it ended."""
    until = time.monotonic() + seconds
    try:
        return [process.communicate(timeout=max(until - time.monotonic(), 1))[0] for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def read_weights(folder: Path) -> bytes:
    return RunFolder(folder).weights_file.read_bytes()


def train_alone(data: Path, out: Path, updates: int) -> bytes:
    command = [sys.executable, "-m", "seq2see", "train", str(data), *SETTINGS, f"train.updates={updates}"]
    command += ["train.workers=1", "train.threads=1", "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return read_weights(out)


def wait_for_updates(out: Path, processes: list["subprocess.Popen[str]"]) -> None:
    until = time.monotonic() + 120
    while not RunFolder(out).checkpoints():
        assert time.monotonic() < until
        assert all(process.poll() is None for process in processes), [process.communicate() for process in processes]
        time.sleep(0.02)


def find_training(host: str) -> int:
    """The process id of the training on a host, not that of its agent."""
    found = subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True).stdout.split()
    pids = [pid for pid in found if b"\0seq2see\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    (pid,) = [pid for pid in pids if b"torch.distributed.run" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return int(pid)


def of_processes(said: str) -> list[str]:
    """The error messages of the trainings, without what torchrun adds."""
    return [line.partition("seq2see: ")[2] for line in said.splitlines() if "seq2see: " in line]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_machines_train_the_weights_of_one_process(
    request: pytest.FixtureRequest, count: int, data: Path, tmp_path: Path
) -> None:
    machines: Machines = request.getfixturevalue({2: "two", 4: "four"}[count])
    updates = f"train.updates={UPDATES}"
    said = end(machines.train(str(data), *SETTINGS, updates, "--out", str(tmp_path / "several")))
    assert read_weights(tmp_path / "several") == train_alone(data, tmp_path / "one", UPDATES), said
    assert f"in {count} processes that torchrun started" in said[0]
    assert [text.count("report:") for text in said] == [1, *[0] * (count - 1)]


@pytest.mark.slow
def test_a_pulled_cable_is_one_sentence_on_every_machine(two: Machines, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    processes = two.train(str(data), *SETTINGS, "train.updates=100000", "--out", str(out), timeout=3)
    wait_for_updates(out, processes)
    two.pull_cable(1)
    for text in end(processes):
        (message,) = of_processes(text)
        assert message.startswith("another process of the training "), text
        assert message.endswith("run the same command again to go on from the last checkpoint."), text
        assert "exitcode  : 2" in text


@pytest.mark.slow
def test_a_machine_that_is_killed_costs_only_what_came_after_the_last_checkpoint(
    two: Machines, data: Path, tmp_path: Path
) -> None:
    out, words = tmp_path / "run", [str(data), *SETTINGS, "train.updates=200", "--out", str(tmp_path / "run")]
    processes = two.train(*words, timeout=10)
    wait_for_updates(out, processes)
    os.kill(find_training(two.hosts[1]), signal.SIGKILL)
    said = end(processes)
    assert [message.split(";")[0] for message in of_processes(said[0])] == [
        "another process of the training ended, or the connection to it broke"
    ]
    said = end(two.train(*words))
    assert read_weights(out) == train_alone(data, tmp_path / "one", 200), said


@pytest.mark.slow
def test_torchrun_restarts_a_training_by_itself(two: Machines, data: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "run", [str(data), *SETTINGS, "train.updates=200", "--out", str(tmp_path / "run")]
    processes = two.train(*words, timeout=10, restarts=2)
    wait_for_updates(out, processes)
    os.kill(find_training(two.hosts[1]), signal.SIGKILL)
    said = end(processes)
    assert [process.returncode for process in processes] == [0, 0], said
    assert read_weights(out) == train_alone(data, tmp_path / "one", 200), said


@pytest.mark.slow
def test_machines_with_different_data_are_refused_with_one_sentence(two: Machines, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    other = write_reversals(other / "reversed.tsv", 200, seed=2)
    words = [str(data), *SETTINGS, f"train.updates={UPDATES}", "--out", str(tmp_path / "run")]
    for text in end(two.train(*words, last=str(other))):
        (message,) = of_processes(text)
        assert message.startswith("all processes of a training must have the same "), text
        assert "process 1 has another than process 0" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_whichever_process_is_told_to_stop_all_save_and_go_on_later(data: Path, tmp_path: Path) -> None:
    """SIGTERM to rank 1 alone, as from a scheduler whose time limit is over on that machine."""
    out, words = tmp_path / "run", [str(data), *SETTINGS, "train.updates=400", "--out", str(tmp_path / "run")]
    agent = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*agent, "-m", "seq2see", "train", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SEQ2SEE_TIMEOUT": "60"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, text=True, env=environment, start_new_session=True, **pipes)  # type: ignore[call-overload]
    wait_for_updates(out, [process])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (follower,) = [pid for pid in children if b"\0RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()]
    os.kill(int(follower), signal.SIGTERM)
    (said,) = end([process])
    assert "Stopped at update" in said
    assert not RunFolder(out).weights_file.is_file() or "report:" not in said
    subprocess.run(command, check=True, capture_output=True, env=environment)
    assert read_weights(out) == train_alone(data, tmp_path / "one", 400)
