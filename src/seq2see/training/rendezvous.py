"""A training that torchrun started: which process this is, and how it finds the others.

torchrun, and every scheduler that knows it (SLURM, Kubernetes, Ray), tells each process by environment variables:
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

import os
import socket
from dataclasses import dataclass
from typing import Any

from torch import distributed

from seq2see.core.errors import ConfigError, Seq2SeeError
from seq2see.training.process_group import TIMEOUT, LostError, ProcessGroup, connect_store, make_device, read_patience

INTERFACE = "GLOO_SOCKET_IFNAME"  # the network interface to communicate over, as for any program that uses gloo


@dataclass(frozen=True)
class Launch:
    """What torchrun tells a process.

    Args:
        rank: the rank of this process among all, from 0.
        workers: how many processes there are.
        host: the machine where the store is, over which the processes find each other.
        port: the port of the store.
        attempt: how often torchrun has started the processes before.
        agent: whether torchrun itself keeps the store; else the process of rank 0 does.
    """

    rank: int
    workers: int
    host: str
    port: int
    attempt: int = 0
    agent: bool = False


def find_launch() -> Launch | None:
    """Return what torchrun told this process; None if it did not start it, or started no other.

    Raises:
        ConfigError: only some of the variables are set, or one is no number.
    """
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    given = {name: os.environ[name] for name in names if name in os.environ}
    if "RANK" not in given or "WORLD_SIZE" not in given:
        return None
    missing = [name for name in names if name not in given]
    if missing:
        raise ConfigError(f"torchrun must set {' and '.join(missing)}, as it sets RANK; start the training with it.")
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    try:
        rank, workers, port = (int(given[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
        launch = Launch(rank, workers, given["MASTER_ADDR"], port, int(attempt), agent)
    except ValueError:
        raise ConfigError("RANK, WORLD_SIZE and MASTER_PORT must be numbers, as torchrun sets them.") from None
    if not 0 <= launch.rank < launch.workers:
        raise ConfigError(f"RANK must be below WORLD_SIZE; got {launch.rank} and {launch.workers}.")
    return launch if launch.workers > 1 else None


def join_launched() -> ProcessGroup | None:
    """Join the process group of a training that torchrun started; None if it did not start this process.

    Raises:
        Seq2SeeError: the other processes do not come.
    """
    launch = find_launch()
    if launch is None:
        return None
    patience = read_patience()
    try:
        device = find_device(launch)
        store = connect_store(launch.host, launch.port, is_master=launch.rank == 0 and not launch.agent)
        c10d: Any = distributed  # whose types leave out half of it
        attempt = c10d.PrefixStore(f"seq2see/{launch.attempt}", store)
        return ProcessGroup(attempt, launch.rank, launch.workers, device=device)
    except (LostError, RuntimeError, OSError):
        raise Seq2SeeError(
            f"process {launch.rank} of {launch.workers} did not find the others over {launch.host}:{launch.port} in "
            f"{patience:.0f} seconds ({TIMEOUT}); check that all were started, and that machines reach each other."
        ) from None


def find_device(launch: Launch) -> Any:
    """Return the gloo device of the network interface that leads to the store, or that GLOO_SOCKET_IFNAME names.

    The name of a machine often does not lead to it: it is looked up as 127.0.1.1, or not at all.

    Args:
        launch: what torchrun told this process.

    Raises:
        ConfigError: there is no such interface, or it has no address.
    """
    interface = os.environ.get(INTERFACE)
    if not interface:
        return make_device(hostname=find_address(launch))
    try:
        return make_device(interface=interface)
    except RuntimeError:
        raise ConfigError(
            f"{INTERFACE} must name a network interface that has an address; got {interface!r}."
        ) from None


def find_address(launch: Launch) -> str:
    """Return the address of this machine on the way to the store.

    Args:
        launch: what torchrun told this process.
    """
    kind, _, _, _, place = socket.getaddrinfo(launch.host, launch.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.connect(place)  # sends nothing
        return str(probe.getsockname()[0])
