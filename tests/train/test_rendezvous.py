"""What torchrun tells a process, and what it does when the others do not come."""

import socket
from pathlib import Path

import pytest

from seq2see.config.schema import Train
from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.training.parallel_plan import ParallelPlan, plan_launched
from seq2see.training.rendezvous import Launch, find_address, find_device, find_launch, join_launched

TOLD = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "2950"}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_USE_AGENT_STORE", "GLOO_SOCKET_IFNAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_torchrun_tells_where_a_process_belongs(told: pytest.MonkeyPatch) -> None:
    assert find_launch() == Launch(1, 4, "10.0.0.7", 2950)
    told.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    told.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    assert find_launch() == Launch(1, 4, "10.0.0.7", 2950, 2, True)


def test_one_process_and_no_torchrun_train_alone(told: pytest.MonkeyPatch) -> None:
    told.setenv("WORLD_SIZE", "1")
    told.setenv("RANK", "0")
    assert find_launch() is None
    told.delenv("RANK")
    assert find_launch() is None
    assert join_launched() is None


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("MASTER_PORT", None, "torchrun must set MASTER_PORT"),
        ("WORLD_SIZE", "four", "RANK, WORLD_SIZE and MASTER_PORT must be numbers"),
        ("RANK", "4", "RANK must be below WORLD_SIZE; got 4 and 4"),
    ],
)
def test_what_torchrun_would_not_say_is_refused(
    told: pytest.MonkeyPatch, name: str, value: str | None, sentence: str
) -> None:
    if value is None:
        told.delenv(name)
    else:
        told.setenv(name, value)
    with pytest.raises(ConfigError, match=sentence):
        find_launch()


def test_others_that_never_come_are_one_sentence(told: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told.setenv("MASTER_ADDR", "127.0.0.1")
    told.setenv("MASTER_PORT", str(port))
    told.setenv("SEQ2SEE_TIMEOUT", "1")
    for rank in ("1", "0"):  # without a store, and alone with one
        told.setenv("RANK", rank)
        with pytest.raises(Seq2SeeError, match=rf"process {rank} of 4 did not find the others over 127.0.0.1:{port}"):
            join_launched()


def test_a_machine_is_known_by_the_interface_that_leads_to_the_store(told: pytest.MonkeyPatch) -> None:
    assert find_address(Launch(0, 2, "127.0.0.1", 9)) == "127.0.0.1"
    if Path("/proc/net/dev").exists():
        told.setenv("GLOO_SOCKET_IFNAME", "lo")
        assert find_device(Launch(0, 2, "10.0.0.7", 9)) is not None
        told.setenv("GLOO_SOCKET_IFNAME", "none7")
        with pytest.raises(ConfigError, match="GLOO_SOCKET_IFNAME must name a network interface"):
            find_device(Launch(0, 2, "127.0.0.1", 9))


def test_the_processes_are_those_of_torchrun() -> None:
    assert plan_launched(Train(threads=3), 4) == ParallelPlan(4, 3)
    assert plan_launched(Train(workers=4, threads=1), 4) == ParallelPlan(4, 1)
    with pytest.raises(ConfigError, match=r"torchrun has started 4 processes, and train.workers is 2"):
        plan_launched(Train(workers=2), 4)
